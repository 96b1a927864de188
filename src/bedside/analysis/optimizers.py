"""What is known about the run's optimizers, from a watched run or from the settings in a log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bedside.record.run import Run

# They divide by the gradient's own size, so that a constant factor in the gradient changes nothing.
SCALE_FREE = ("adam", "lion", "muon", "rmsprop", "adagrad", "adafactor", "shampoo", "lamb", "lars", "sophia", "signsgd")

SECTIONS = ("optimizer", "optim", "optimiser")  # of a configuration
NAMES = ("name", "type", "_target_", "class_name")  # the key in it that says which


def optimizers(run: Run) -> list[Mapping[str, Any]]:
    """One mapping per optimizer, with its `name` and what else is known of it."""
    known = run.config.get("optimizers") or run.config.get("optimizer") or run.config.get("optim") or _flat(run.config)
    if isinstance(known, (str, Mapping)):
        known = [known]
    return [each if isinstance(each, Mapping) else {"name": str(each)} for each in known]


def _flat(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The optimizer of a configuration in one level: `optimizer.name`, `train/optim/_target_`, `trainer.optimizer`."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        *above, last = str(key).replace("/", ".").lower().split(".")
        inside = bool(above) and above[-1] in SECTIONS
        if last in NAMES if inside else last in SECTIONS and isinstance(value, str):
            found.setdefault("name", value)
        elif inside:
            found.setdefault(last, value)
    return [found] if "name" in found else []


def is_scale_free(run: Run) -> bool:
    """Whether a constant factor in the gradient changes nothing; False when the optimizer is not known."""
    names = [str(each.get("name", "")).lower() for each in optimizers(run)]
    return bool(names) and all(any(kind in name for kind in SCALE_FREE) for name in names)


def weight_decay(run: Run) -> float:
    """The weight decay of the first optimizer; NaN when it is not known."""
    for each in [*optimizers(run), run.config]:
        value = each.get("weight_decay")
        if isinstance(value, (int, float)):
            return float(value)
    return math.nan
