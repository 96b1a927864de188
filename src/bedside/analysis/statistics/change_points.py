"""When did the level of a curve change, and by how much: binary segmentation on cumulative sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics.noise import mad, noise_level
from bedside.record.series import Values

ONE_IN_A_HUNDRED = 2.6  # standard errors above the law of the iterated logarithm: the 99 % quantile of one split
MIN_READINGS = 3  # readings on either side: two could be one wild reading and its neighbour


@dataclass(frozen=True)
class Shift:
    """A level before and after: `size` in the curve's own units, `sigmas` in units of the noise around the levels."""

    before: float
    after: float
    sigmas: float

    @property
    def size(self) -> float:
        return self.after - self.before


def level_shift(before: Values, after: Values) -> Shift:
    """How far apart two stretches are: medians, against the pooled spread around them."""
    if not len(before) or not len(after):
        return Shift(math.nan, math.nan, 0.0)
    low, high = float(np.median(before)), float(np.median(after))
    spread = mad(np.concatenate([before - low, after - high]))
    if low == high:
        return Shift(low, high, 0.0)
    return Shift(low, high, abs(high - low) / spread if spread > 0 else math.inf)


def change_points(
    values: Values, *, sigma: float | None = None, threshold: float | None = None, fewest: int = MIN_READINGS
) -> list[int]:
    """Indices at which a new level begins, in order.

    `sigma` is the noise (from differences by default), `threshold` how many of its standard errors a split must
    bring: by default the largest that pure noise of this length reaches once in a hundred, from the law of the
    iterated logarithm. Give means of blocks where readings remember each other.
    """
    values = np.asarray(values, np.float64)
    noise = noise_level(values) if sigma is None else sigma
    if len(values) < 2 * fewest:
        return []
    if noise <= 0:
        noise = 1e-12 * max(1.0, float(np.abs(values).max()))
    if threshold is None:
        threshold = math.sqrt(2 * math.log(max(3.0, math.log(len(values))))) + ONE_IN_A_HUNDRED
    found: list[int] = []
    open_ = [(0, len(values))]
    while open_:
        start, stop = open_.pop()
        split, gain = _best_split(values[start:stop], fewest)
        if split and gain > threshold * noise:
            found.append(start + split)
            open_ += [(start, start + split), (start + split, stop)]
    return sorted(found)


def _best_split(values: Values, fewest: int) -> tuple[int, float]:
    """The split with the largest difference of means, weighted by its own standard error."""
    n = len(values)
    if n < 2 * fewest:
        return 0, 0.0
    left = np.arange(fewest, n - fewest + 1)
    drift = np.cumsum(values - values.mean())[left - 1]
    gain = np.abs(drift) / np.sqrt(left * (n - left) / n)
    best = int(np.argmax(gain))
    return int(left[best]), float(gain[best])
