"""How much a curve wiggles, and for how many readings a wiggle is remembered."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bedside.analysis.statistics.cached import kept
from bedside.record.median import median
from bedside.record.series import Values

MAD_TO_SIGMA = 1.4826  # of a normal distribution: σ = 1.4826 · MAD
MEAN_TO_SIGMA = 1.2533  # of a normal distribution: σ = √(π/2) · mean absolute deviation
KNOTS = 8  # the slow shape taken out before looking for memory: enough for a curve, too few for its noise
MIN_WITH_MEMORY = 8  # readings of a quarter: fewer have no autocorrelation to speak of
WILD, RESIDUAL = 5.0, 3.0  # σ of the readings, and of what is left without the slope: what is further out is pulled in
MIN_AT_A_KNOT = 5  # a median of five ignores two wild readings


def mad(values: Values) -> float:
    """Spread around the median, as the σ of a normal distribution with that spread; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    return MAD_TO_SIGMA * median(np.abs(values - median(values)))


def noise_level(values: Values) -> float:
    """σ of the reading-to-reading noise, from second differences, so that no slope and no step counts as noise.

    Where most readings repeat exactly (a rounded or frozen curve) the median difference is zero, and the mean
    difference is used instead.
    """
    if len(values) < 4:
        return 0.0
    differences = np.abs(np.diff(values, 2))
    typical = median(differences)
    if typical > 0:
        return MAD_TO_SIGMA * typical / float(np.sqrt(6))
    return MEAN_TO_SIGMA * float(np.mean(differences)) / float(np.sqrt(6))


@kept
def wander(values: Values) -> float:
    """σ of the deviations from the slow shape of the curve: with noise that remembers, far more than `noise_level`.

    Fewer than three readings a knot cannot tell shape from wander; then it is the noise level.
    """
    if len(values) < 3 * KNOTS:
        return noise_level(values)
    return max(noise_level(values), mad(values - _slow_shape(values)))


@kept
def autocorrelation_time(values: Values) -> float:
    """How many readings make one independent one: 1 for white noise, (1 + φ) / (1 − φ) for AR(1).

    The median over the quarters of the curve (short curves are taken whole), each with its own slope taken out and its
    outliers pulled in, so that neither a steep beginning, nor a bend, nor one spike looks like memory. Memory much
    longer than a tenth of the curve looks like its shape, and is underestimated.
    """
    if len(values) < 3 * MIN_WITH_MEMORY:
        return 1.0
    parts = 4 if len(values) >= 16 * MIN_WITH_MEMORY else 1
    return median(np.array([_memory(part) for part in np.array_split(values, parts)]))


def _memory(values: Values) -> float:
    """1 + 2 Σ ρ(k), up to the lag at which ρ is within noise of zero."""
    n = len(values)
    places = np.arange(n) - (n - 1) / 2
    middle, reach = median(values), WILD * mad(values)
    values = np.clip(values, middle - reach, middle + reach)
    residual = values - values.mean()
    residual = residual - places * float(places @ residual) / float(places @ places)
    spread = mad(residual)
    if spread == 0.0:
        return 1.0
    residual = np.clip(residual / spread, -RESIDUAL, RESIDUAL)
    residual = residual - residual.mean()
    size = 1 << (2 * n - 1).bit_length()
    correlation = np.fft.irfft(np.abs(np.fft.rfft(residual, size)) ** 2, size)[: n // 2]
    if correlation[0] <= 0:
        return 1.0
    correlation = correlation / correlation[0]
    below = np.flatnonzero(correlation < 2 / np.sqrt(n))
    memory = correlation[1 : int(below[0])] if len(below) else correlation[1:]
    return float(1 + 2 * memory.sum())


def _slow_shape(values: Values) -> Values:
    """Through medians of eighths; the first eighth is halved again and again, for that is where curves are steep."""
    eighth = len(values) / KNOTS
    early = [eighth / 2**k for k in range(1, 20) if eighth / 2**k >= MIN_AT_A_KNOT]
    edges = np.unique(np.r_[0, early, np.linspace(eighth, len(values), KNOTS)].astype(int))
    centres = (edges[:-1] + edges[1:] - 1) / 2
    medians = [median(values[a:b]) for a, b in pairwise(edges)]
    return np.interp(np.arange(len(values)), centres, medians)
