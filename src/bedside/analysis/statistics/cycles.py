"""Whether a curve swings to and fro, at whatever period, and how far.

The autocorrelation of a swing is negative half a period away and positive a whole one away. That of noise is neither,
whether it remembers or not, and that of batches which come again in the same order is not negative in between. The
swings are the signal here, so nothing that is estimated from differences of neighbours enters.

>>> time = np.arange(200)
>>> found = cycle(2 + np.sin(2 * np.pi * time / 9))
>>> found.period, round(found.height, 1)
(9, 2.0)
>>> cycle(np.random.default_rng(0).normal(size=200)) is None
True
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bedside.record.median import median
from bedside.record.series import Values

CLEAR = 0.3  # autocorrelation, negative half a period away and positive a whole one: an AR(2) swing still has it
SIGMAS = 4.5  # of the autocorrelation of white noise, 1/√n: the most that a hundred lags of it reach
SMOOTH, SMOOTH_FROM = 0.15, 6  # of neighbours, at periods from here on: batches that come again in order have none
NEARLY = 0.8  # of the highest return: the first one this high is the period
FEW_PERIODS = 1.4  # over the root of how many periods there are: noise that remembers makes a few by chance
MIN_PERIODS = 5  # in the stretch: fewer are the shape of the curve
MIN_READINGS = 40  # eight of the shortest swings that are not a zigzag
SPIKE = 99  # percentile of the distances from the slow shape: what is beyond it is cut off
HIGH, LOW = 95, 5  # percentiles between which the swing is measured: one spike is not a height


@dataclass(frozen=True)
class Cycle:
    """One swing: `period` in readings, `height` from bottom to top, around the slow shape of the curve."""

    period: int
    height: float
    strength: float  # the autocorrelation a period away


def cycle(values: Values) -> Cycle | None:
    """The swing in a stretch of a curve; None if there is none."""
    n = len(values)
    if n < MIN_READINGS:
        return None
    rest = values - _slow_shape(values)
    limit = np.percentile(np.abs(rest), SPIKE)
    rest = np.clip(rest, -limit, limit)
    rest = rest - rest.mean()
    power = float((rest**2).sum())
    if power <= 0:
        return None
    size, longest = 1 << (2 * n - 1).bit_length(), n // MIN_PERIODS
    lags = np.fft.irfft(np.abs(np.fft.rfft(rest, size)) ** 2, size)[: longest + 1] / power
    lags = lags * n / (n - np.arange(len(lags)))  # fewer pairs at longer lags
    clear = max(CLEAR, SIGMAS / float(np.sqrt(n)))
    opposed = np.flatnonzero(lags <= -clear)
    if not len(opposed):
        return None
    first = int(opposed[0])
    ahead = lags[first : 4 * first + 2]  # a cosine is that far below zero from 0.3 of its period on
    if ahead.max() < clear:
        return None
    back = int(np.argmax(ahead >= NEARLY * ahead.max()))  # the first return, not a later multiple of it
    period = first + back + int(np.argmax(ahead[back : 2 * back + 1]))
    clear = max(clear, FEW_PERIODS * float(np.sqrt(period / n)))
    smooth = period < SMOOTH_FROM or lags[1] >= SMOOTH
    if lags[period] < clear or lags[period // 2] > -CLEAR / 2 or not smooth:
        return None
    height = float(np.percentile(rest, HIGH) - np.percentile(rest, LOW))
    return Cycle(period, height, float(lags[period]))


def _slow_shape(values: Values) -> Values:
    """Through medians of stretches as long as the longest swing that is looked for: no swing counts as shape."""
    edges = np.linspace(0, len(values), MIN_PERIODS + 1).astype(int)
    centres = (edges[:-1] + edges[1:] - 1) / 2
    medians = np.array([median(values[a:b]) for a, b in pairwise(edges)])
    slopes = np.polyfit(centres[:2], medians[:2], 1), np.polyfit(centres[-2:], medians[-2:], 1)
    ends = [np.polyval(slopes[0], 0.0), np.polyval(slopes[1], len(values) - 1.0)]
    return np.interp(np.arange(len(values)), np.r_[0.0, centres, len(values) - 1.0], np.r_[ends[0], medians, ends[1]])
