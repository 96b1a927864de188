"""What became of the loss after a step that may have harmed it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bedside.record.series import Series, Values

READINGS = 5  # in a median that no single batch decides
END = 10  # the end is the last one of so many parts


@dataclass(frozen=True)
class LossAfter:
    """The loss before and after a step, in levels that no single batch decides."""

    level: float  # before it
    peak: float  # the highest median of three after it
    end: float  # median of the last tenth
    overflowed: bool  # lost to NaN without having come down
    readings: int  # after it
    falls_by_doubling: float  # share of itself by which the loss fell from the second quarter to the second half


def loss_after(loss: Series, step: int, *, time_to_recover: int, recent: int, came_down: float) -> LossAfter | None:
    """The fate of the loss after `step`, or None where there is no finite level before it or nothing after it.

    An overflow is blamed on the step only if it came within `time_to_recover` readings or while the median of the
    `recent` losses before it was still above `came_down` of the level.
    """
    level = loss.before(step + 1).median(READINGS)  # the loss of a step is that of the weights before it
    after = loss.since(step + 1)
    if not after or not math.isfinite(level):
        return None
    finite = after.finite().values
    smooth = _medians_of_three(finite)
    return LossAfter(
        level=level,
        peak=float(smooth.max()) if len(smooth) else math.inf,
        end=float(np.median(finite[-max(READINGS, len(finite) // END) :])) if len(finite) else math.inf,
        overflowed=_overflowed(after, level, time_to_recover, recent, came_down),
        readings=len(after),
        falls_by_doubling=_falls_by_doubling(finite),
    )


def _falls_by_doubling(losses: Values) -> float:
    """What doubling the steps still won, as a share of the loss: one that is on its way may yet halve."""
    quarter, half = len(losses) // 4, len(losses) // 2
    if quarter == half:
        return 0.0
    then, now = float(np.median(losses[quarter:half])), float(np.median(losses[half:]))
    return (then - now) / abs(then) if then else 0.0


def _overflowed(after: Series, level: float, time_to_recover: int, recent: int, came_down: float) -> bool:
    """Whether the loss was lost to NaN without having come down before: then the step is to blame."""
    bad = np.flatnonzero(~np.isfinite(after.values))
    if not len(bad):
        return False
    before = after.values[: bad[0]]
    return len(before) < time_to_recover or float(np.median(before[-recent:])) > came_down * level


def _medians_of_three(values: Values) -> Values:
    return np.median(np.lib.stride_tricks.sliding_window_view(values, 3), axis=1) if len(values) >= 3 else values
