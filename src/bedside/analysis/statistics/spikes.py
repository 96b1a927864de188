"""Isolated excursions of a curve: where it leaves its own past by far more than it usually does, and comes back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics.noise import MAD_TO_SIGMA
from bedside.analysis.statistics.outline import running_median
from bedside.record.median import median, medians
from bedside.record.series import Values

NEIGHBOURS = 21  # readings in the local median that gives the usual deviations
TAIL = 0.95  # quantile of the usual deviations; a tail is measured, because batch noise is not normal
MAX_TAIL = 4.0  # σ: the tail of double-exponential noise is at 2.9, of normal noise at 2
FAR = 5.0  # usual tails: 8 σ of normal noise, and still once in 10⁵ readings of double-exponential noise
BACK = 0.25  # of the height: a curve that has come down by three quarters is back
PAST = 10  # readings before the excursion that give the level it left


@dataclass(frozen=True)
class Spike:
    """Readings `first` to `last` (indices) stand above `level`, the level before them, with the highest at `peak`."""

    first: int
    peak: int
    last: int
    level: float
    height: float  # of the peak above the level
    tails: float  # the height in units of the curve's usual tail
    back: bool  # it came back before the end


def spikes(values: Values, *, positive: bool, skip: int = 0) -> list[Spike]:
    """Upward excursions in order of time; the first `skip` readings are not looked at.

    On a positive curve they are looked for on the logarithm, since its noise is usually in proportion to its level.
    """
    if len(values) < NEIGHBOURS:
        return []
    scale = np.log(values) if positive else values
    deviations = np.abs(scale - running_median(scale, NEIGHBOURS))
    tail = float(np.quantile(deviations, TAIL))
    usual = MAD_TO_SIGMA * median(deviations)
    if usual > 0:  # slow returns of many excursions would make a tail of their own
        tail = min(tail, MAX_TAIL * usual)
    if tail <= 0:
        tail = 1e-9 * max(1.0, float(np.abs(scale).max()))
    before = medians(np.lib.stride_tricks.sliding_window_view(scale[:-1], PAST))
    above = np.concatenate([np.zeros(PAST), scale[PAST:] - before])
    found: list[Spike] = []
    reached = skip
    for candidate in np.flatnonzero(above > FAR * tail):
        if candidate >= reached and not (found and _still_returning(found[-1], scale, int(candidate))):
            found.append(_measure(values, scale, int(candidate), tail))
            reached = found[-1].last + 1
    return found


def _still_returning(spike: Spike, scale: Values, candidate: int) -> bool:
    """Whether a reading is the last of an excursion's way back, and no new one."""
    quiet = median(scale[spike.first - PAST : spike.first])
    soon = candidate - spike.last <= PAST
    return soon and scale[candidate] - quiet <= BACK * (scale[spike.peak] - quiet)


def _measure(values: Values, scale: Values, candidate: int, tail: float) -> Spike:
    past = slice(candidate - PAST, candidate)
    level, quiet = median(values[past]), median(scale[past])
    # The end is where the curve has come down for two readings in a row; the peak may lie anywhere before that.
    top = np.maximum.accumulate(scale[candidate:]) - quiet
    down = scale[candidate:] - quiet <= BACK * top
    down[:-1] &= down[1:]
    ends = np.flatnonzero(down)
    last = candidate + int(ends[0]) - 1 if len(ends) else len(scale) - 1
    peak = candidate + int(np.argmax(values[candidate : last + 1]))
    tails = float(scale[peak] - quiet) / tail
    return Spike(candidate, peak, last, level, float(values[peak]) - level, tails, back=len(ends) > 0)
