"""What a log implies but does not say: modules from parameters, clipping from its threshold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.record.run import Key

Curve = tuple[NDArray[np.int64], NDArray[np.float64]]
AT_THRESHOLD = 1e-3  # relative: torch adds 1e-6 to the norm, and logs round to four digits
MIN_NORMS = 20  # readings: a handful may be equal by chance
CEILING_SHARE = 0.5  # of the readings on the highest value: measured norms differ in their second digit
CLIPPED_SHARE = 0.2  # of the readings on the threshold and none above it: the norm was read after clipping
_LEAF = re.compile(r"[./](?:weight|bias|kernel|gamma|beta|scale|embeddings?)(?::0)?$")


def derive(series: Mapping[Key, Curve], config: Mapping[str, Any], notes: list[str]) -> dict[Key, Curve]:
    """The series and what follows from them; `notes` gets a line for everything that was assumed."""
    found = dict(series)
    for vital in ("grad_norm", "grad_norm_clipped", "param_norm"):
        _modules(found, vital, notes)
    _skipped(found)
    _clip_shares(found)
    _clipping(found, config, notes)
    _stray_gradients(found, notes)
    return found


def _modules(found: dict[Key, Curve], vital: str, notes: list[str]) -> None:
    """A module's norm is the root of its parameters' squares; a bias alone is nobody's layer."""
    groups: dict[str, list[Key]] = {}
    for key in found:
        if key[0] == vital and key[1]:
            groups.setdefault(_LEAF.sub("", key[1]), []).append(key)
    if all(keys == [(vital, owner)] for owner, keys in groups.items()):
        return
    merged = 0
    for owner, keys in groups.items():
        curves = [found.pop(key) for key in keys]
        steps = curves[0][0]
        for other, _ in curves[1:]:
            steps = np.intersect1d(steps, other)
        squares = [values[np.searchsorted(at, steps)] ** 2 for at, values in curves]
        merged += len(keys) > 1
        found[(vital, owner)] = (steps, np.sqrt(np.sum(squares, axis=0))) if len(keys) > 1 else curves[0]
    if merged:
        notes.append(f"{vital} is logged per parameter: {merged} modules were summed up from their parameters.")


def _skipped(found: dict[Key, Curve]) -> None:
    """A running count of skipped steps becomes 1 where it grew."""
    if ("skipped", "") not in found:
        return
    steps, values = found[("skipped", "")]
    if len(values) and values.max() > 1 and (np.diff(values) >= 0).all():
        values = np.diff(values, prepend=0.0)
    found[("skipped", "")] = (steps, (values > 0).astype(np.float64))


def _clip_shares(found: dict[Key, Curve]) -> None:
    """How often clipping acted since the last reading, as a share: some tools count in percent."""
    if ("clip_active", "") in found:
        steps, values = found[("clip_active", "")]
        if len(values) and np.nanmax(values) > 1:
            found[("clip_active", "")] = (steps, values / 100)


def _clipping(found: dict[Key, Curve], config: Mapping[str, Any], notes: list[str]) -> None:
    if ("grad_norm", "") not in found or ("clip_active", "") in found:
        return
    steps, values = found[("grad_norm", "")]
    finite = values[np.isfinite(values)]
    threshold = config.get("max_grad_norm")
    if not isinstance(threshold, (int, float)) or not threshold > 0:
        threshold = _ceiling(finite)
        if threshold:
            notes.append(f"The gradient norm never exceeds {threshold:.4g}, and is often just that: taken as clipped.")
    if len(finite) == 0 or not threshold:
        return
    at = np.abs(finite - threshold) <= AT_THRESHOLD * threshold
    if (finite <= threshold * (1 + AT_THRESHOLD)).all() and at.mean() > CLIPPED_SHARE:
        found[("grad_norm_clipped", "")] = found.pop(("grad_norm", ""))
        found[("clip_active", "")] = (steps, (np.abs(values - threshold) <= AT_THRESHOLD * threshold).astype(float))
        if "max_grad_norm" in config:
            notes.append(f"The gradient norm never exceeds max_grad_norm = {threshold:g}: it was read after clipping.")
    else:
        found[("grad_clip_ratio", "")] = (steps, values / threshold)
        found[("clip_active", "")] = (steps, (values > threshold).astype(float))
        notes.append(f"Clipping is worked out from max_grad_norm = {threshold:g} in the configuration.")
    found[("clip_threshold", "")] = (steps, np.full(len(steps), float(threshold)))


def _ceiling(norms: NDArray[np.float64]) -> float:
    """The value that norms come up to again and again and never exceed, which only a clipping threshold is; or 0."""
    if len(norms) < MIN_NORMS or not norms.max() > 0:
        return 0.0
    at = norms >= norms.max() * (1 - AT_THRESHOLD)
    return float(np.median(norms[at])) if at.mean() >= CEILING_SHARE else 0.0


def _stray_gradients(found: dict[Key, Curve], notes: list[str]) -> None:
    if ("grad_norm", "") not in found:
        return
    _, values = found[("grad_norm", "")]
    bad = ~np.isfinite(values)
    if bad.any() and not bad.all() and not (bad[1:] & bad[:-1]).any():
        notes.append(
            f"{int(bad.sum())} of {len(values)} gradient norms are not finite, never two in a row: "
            "under fp16 loss scaling these are skipped steps."
        )
