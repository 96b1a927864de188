"""A specimen's recorded runs as one compact JSON object, for pages that draw them: the guide, and a gallery later.

    {"name": …, "title": …, "kind": …, "page": …, "line": …, "expects": [[…]],
     "runs": {"healthy": {…}, "mild": {…}, …}}

A run has its severity, its curves (`"loss": [[step, value], …]`, a null where the value was NaN or infinite), the
gradient, update and activation of every layer at the end, in the order of the network, and its diagnosis in words.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from bedside.analysis.leaf_modules import leaves
from bedside.diagnosis.engine import examine
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import VITALS
from bedside.zoo.run_cache import CACHE, TWIN, recorded
from bedside.zoo.specimen import Specimen

POINTS = 100  # of a curve: what a card of a few hundred pixels can show
SHOWN = ("loss", "val/loss", "val/accuracy", "lr", "grad_norm", "relative_update_norm", "loss_scale", "reward")
PER_LAYER = ("grad_norm", "relative_update_norm", "activation_rms", "dead_fraction", "saturated_fraction")
LAST = 10  # readings at the end that stand for a layer: one batch alone is noise


def curves_of(specimen: Specimen, seed: int, cache: Path = CACHE) -> dict[str, Any]:
    """Everything a card needs to know about a specimen."""
    severities = [TWIN, *specimen.severities] if specimen.sick else list(specimen.severities)
    return {
        "name": specimen.name,
        "title": specimen.title,
        "kind": specimen.kind,
        "page": specimen.page,
        "line": specimen.the_line,
        "expects": [list(group) for group in specimen.expects],
        "seed": seed,
        "runs": {each: _run(specimen, each, recorded(specimen, each, seed, cache)) for each in severities},
    }


def write_gallery(specimen: Specimen, seed: int, cache: Path = CACHE) -> Path:
    """Keep them beside the recorded runs, one file per specimen."""
    path = cache / "gallery" / f"{specimen.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(curves_of(specimen, seed, cache), allow_nan=False), encoding="utf-8")
    return path


def _run(specimen: Specimen, severity: str, run: Run) -> dict[str, Any]:
    diagnosis = examine(run)
    primary = diagnosis.primary
    return {
        "severity": str(specimen.severities.get(severity, "")),
        "steps": run.steps,
        "curves": {key: points(run.series(key)) for key in SHOWN if run.series(key)},
        "layers": layers(run),
        "verdict": diagnosis.verdict,
        "onset": specimen.onset_in(run) if specimen.sick and severity != TWIN else None,
        "diagnosis": str(primary) if primary else "",
        "prescription": list(primary.try_) if primary else [],
    }


def points(series: Series, most: int = POINTS) -> list[tuple[int, float | None]]:
    """A thinned curve: every so many readings, as they were."""
    stride = -(-len(series) // most)
    thinned = zip(series.steps[::stride].tolist(), series.values[::stride].tolist(), strict=True)
    return [(step, float(f"{value:.4g}") if math.isfinite(value) else None) for step, value in thinned]


def layers(run: Run) -> dict[str, dict[str, float | None]]:
    """What each layer had at the end, by vital and layer."""
    return {
        vital: {series.owner: _number(series.median(LAST)) for series in leaves(run, VITALS[vital])}
        for vital in PER_LAYER
        if run.has(vital, per_owner=True)
    }


def _number(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
