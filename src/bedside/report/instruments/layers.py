"""Vitals per layer: bars from the first layer to the last at any step, and a map of layer by step.

A gradient norm of the whole model can look well while half of the model gets none of it. So each layer has a bar on a
logarithmic axis, and a word beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.analysis.leaf_modules import leaf_owners, leaves
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import VITALS
from bedside.report.instruments.panel import Instrument, Line, Panel
from bedside.wording import number, percent, plural


@dataclass(frozen=True)
class Limits:
    """Where a word changes. These colour a picture; the rules decide with limits of their own."""

    faint: float = 1e-3  # of the largest layer: the guide's; healthy deep nets of the zoo stay above it
    dominant: float = 0.9  # of the squared norm: one layer alone decides the direction of the step
    layers_to_dominate: int = 4  # of two or three layers one is always most of it
    last: int = 10  # readings that stand for "now": one batch is noise


@dataclass(frozen=True)
class PerLayer:
    """How one vital is shown per layer."""

    vital: str
    section: str
    title: str
    log: bool
    low: float | None = None  # ends of the usual range, where it is an absolute one
    high: float | None = None


SHOWN = (
    PerLayer("grad_norm", "gradients", "Gradient norm per layer", log=True),
    PerLayer("relative_update_norm", "updates", "Update over weight, per layer", log=True, low=1e-5, high=1e-2),
    PerLayer("param_norm", "updates", "Weight norm per layer", log=True),
    PerLayer("dead_fraction", "activations", "Dead units per layer", log=False, low=0.0, high=0.5),
    PerLayer("saturated_fraction", "activations", "Saturated outputs per layer", log=False, low=0.0, high=0.5),
    PerLayer("activation_rms", "activations", "Output size per layer (RMS)", log=True),
    PerLayer("batch_variation", "activations", "How much outputs differ between samples, per layer", log=True),
    PerLayer("attention_entropy", "activations", "Attention entropy per layer", log=False, low=0.05, high=0.98),
)
POINTS = 80  # steps of a map: a column is then four pixels on a phone
MAX_LAYERS = 120  # rows of a map
MAX_NUMBERS = 9_000  # of one map; deeper models get fewer steps


def layer_instruments(run: Run) -> list[Instrument]:
    found = []
    for each in SHOWN:
        if len(leaf_owners(run.owners(each.vital))) > 1:

            def read(run: Run, each: PerLayer = each) -> Panel | None:
                return layer_panel(run, each)

            found.append(Instrument(f"layers:{each.vital}", each.section, each.title, read))
    return found


def layer_panel(run: Run, how: PerLayer, limits: Limits = Limits()) -> Panel | None:
    every = [each for each in leaves(run, VITALS[how.vital]) if each]
    if not every:
        return None
    shown = _spread(every, MAX_LAYERS)
    now = {each.owner: each.before(_lost_at(run)).median(limits.last) for each in shown}
    extra: dict[str, Any] = {
        "points": max(20, min(POINTS, MAX_NUMBERS // len(shown))),
        "faint": limits.faint if how.vital == "grad_norm" else 0.0,
        "range": [how.low, how.high] if how.high is not None else None,
        "layers": [each.owner for each in shown],
        "of": len(every),
    }
    if how.vital == "grad_norm":
        extra["table"] = gradient_table(now, limits)
    return Panel(
        f"layers:{how.vital}",
        how.section,
        how.title,
        say=_said(how, now, len(every)),
        kind="layers",
        lines=[Line(each.key, each.owner) for each in shown],
        log=how.log,
        extra=extra,
        series=shown,
    )


def gradient_table(now: dict[str, float], limits: Limits = Limits()) -> list[dict[str, str]]:
    """Layer, norm, share of the whole, and one word of judgement."""
    finite = [value for value in now.values() if math.isfinite(value)]
    largest, total = max(finite, default=0.0), math.fsum(value * value for value in finite)
    rows = []
    for layer, norm in now.items():
        share = norm * norm / total if total and math.isfinite(norm) else math.nan
        rows.append(
            {
                "layer": layer,
                "norm": number(norm),
                "share": percent(share) if math.isfinite(share) else "–",
                "status": _status(norm, share, largest, len(now), limits),
            }
        )
    return rows


def _status(norm: float, share: float, largest: float, layers: int, limits: Limits) -> str:
    if not math.isfinite(norm):
        return "not finite"
    if norm == 0:
        return "no gradient"
    if norm < limits.faint * largest:
        return "faint"
    if layers >= limits.layers_to_dominate and share > limits.dominant:
        return "dominant"
    return "in balance"


def _said(how: PerLayer, now: dict[str, float], layers: int) -> str:
    names = list(now)
    first, last = now[names[0]], now[names[-1]]
    said = plural(layers, "layer")
    if len(names) < layers:
        said += f", {len(names)} of them shown"
    if how.vital == "grad_norm" and math.isfinite(first) and last > 0:
        said += f" · first over last: {number(first)} / {number(last)} = {number(first / last)}"
        return said
    finite = {name: value for name, value in now.items() if math.isfinite(value)}
    if finite:
        low, high = min(finite, key=lambda n: finite[n]), max(finite, key=lambda n: finite[n])
        if finite[low] == finite[high]:
            return f"{said} · {number(finite[low])} in all of them"
        said += f" · from {number(finite[low])} ({low}) to {number(finite[high])} ({high})"
    return said


def _spread(every: Sequence[Series], most: int) -> list[Series]:
    """All of them, or evenly chosen ones with the first and the last."""
    if len(every) <= most:
        return list(every)
    return [every[round(i * (len(every) - 1) / (most - 1))] for i in range(most)]


def _lost_at(run: Run) -> int:
    """The first step whose loss is not a number, if there is one: layers are described as they were before it."""
    bad = run.loss.steps[~np.isfinite(run.loss.values)]
    return int(bad[0]) if len(bad) and bad[0] > 0 else run.steps
