"""Is the fault really there? How a specimen's sick run is compared with its healthy twin."""

from __future__ import annotations

import math

import numpy as np

from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.zoo.specimen import FaultCheck

LAST = 3  # evaluations at the end that are averaged: one alone is a matter of luck


def at_the_end(run: Run, key: str) -> float:
    """The median of the last readings; a loss that is no longer finite is infinitely bad."""
    values = run.series(key).values
    last = values[-LAST:] if key.startswith("val/") else values[-max(LAST, len(values) // 20) :]
    if not len(last):
        return math.nan
    return float(np.median(last)) if np.isfinite(last).all() else math.inf


def ends_worse(key: str, by: float) -> FaultCheck:
    """The sick run ends at least `by` worse on this metric than the twin: lower if it should rise, else higher."""

    def is_there(sick: Run, twin: Run) -> bool:
        ill, well = at_the_end(sick, key), at_the_end(twin, key)
        return well - ill >= by if goes_up(key) else ill - well >= by

    return is_there


def ends_higher(key: str, times: float) -> FaultCheck:
    """The sick run ends at `times` the twin's level or more."""

    def is_there(sick: Run, twin: Run) -> bool:
        return at_the_end(sick, key) >= times * at_the_end(twin, key)

    return is_there


def ends_lower(key: str, times: float) -> FaultCheck:
    """The sick run ends at `times` the twin's level or less."""

    def is_there(sick: Run, twin: Run) -> bool:
        return at_the_end(sick, key) <= times * at_the_end(twin, key)

    return is_there


def is_lost(sick: Run, twin: Run) -> bool:
    """The sick run's loss stops being a number, the twin's never does."""
    return not np.isfinite(sick.loss.values).all() and bool(np.isfinite(twin.loss.values).all())


def either(*ways: FaultCheck) -> FaultCheck:
    return lambda sick, twin: any(way(sick, twin) for way in ways)


def first_evaluation(run: Run) -> int:
    """The step of the first evaluation: a fault of the validation pass, or of its metric, exists from there on."""
    series = run.series("val/loss")
    return series.first_step if series else 0


def lowest_validation(run: Run) -> int:
    """The step at which the held-out loss was best: where overfitting begins."""
    series = run.series("val/loss").finite()
    return int(series.steps[int(np.argmin(series.values))]) if series else 0
