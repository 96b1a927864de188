"""Does a curve rise or fall, by how much, and is that more than chance?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics.block_means import MAX_BLOCKS, in_blocks
from bedside.record.series import Series, Values

MAX_EXACT_POINTS = 500  # all pairs of 500 points are 125 000 slopes; longer curves come as blocks


@dataclass(frozen=True)
class Trend:
    """The slope of a curve: `change` is what it amounts to from the first reading to the last."""

    slope: float  # per step
    change: float
    tau: float  # Kendall's: −1 always falling, +1 always rising
    p: float  # probability of a |tau| this large without a trend
    noise: float  # σ of one block mean
    blocks: int

    @property
    def effect(self) -> float:
        """The change in units of the noise of one block mean; 0 when there is no change at all."""
        if self.change == 0.0:
            return 0.0
        return abs(self.change) / self.noise if self.noise > 0 else math.inf

    def significant(self, p: float = 0.01, effect: float = 2.0) -> bool:
        """More than chance, and more than `effect` block noises: never the p-value alone."""
        return self.p < p and self.effect >= effect

    @property
    def rising(self) -> bool:
        return self.change > 0 and self.significant()

    @property
    def falling(self) -> bool:
        return self.change < 0 and self.significant()


def trend(series: Series, *, most: int = MAX_BLOCKS) -> Trend:
    """The trend of a series, on means of blocks longer than its memory."""
    blocks = in_blocks(series, most=most)
    if len(blocks) < 3:
        return Trend(0.0, 0.0, 0.0, 1.0, 0.0, len(blocks))
    centres = (blocks.first_steps + blocks.last_steps) / 2
    slope = theil_sen(centres, blocks.means)
    tau, p = kendall(blocks.means)
    around = blocks.means - slope * centres
    noise = float(np.std(around, ddof=1))
    return Trend(slope, slope * float(blocks.last_steps[-1] - blocks.first_steps[0]), tau, p, noise, len(blocks))


def theil_sen(x: Values, y: Values) -> float:
    """The median slope over all pairs; up to 29 % of the points may be wild. Thinned evenly beyond 500 points."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) > MAX_EXACT_POINTS:
        chosen = np.linspace(0, len(x) - 1, MAX_EXACT_POINTS).astype(int)
        x, y = x[chosen], y[chosen]
    if len(x) < 2:
        return 0.0
    i, j = np.triu_indices(len(x), 1)
    return float(np.median((y[j] - y[i]) / (x[j] - x[i])))


def kendall(y: Values) -> tuple[float, float]:
    """Kendall's tau of `y` against its order, and the two-sided p-value of no trend (normal approximation, ties
    corrected). Meant for block means: raw readings remember each other and make p far too small."""
    y = np.asarray(y, np.float64)
    if len(y) > MAX_EXACT_POINTS:
        y = y[np.linspace(0, len(y) - 1, MAX_EXACT_POINTS).astype(int)]
    n = len(y)
    if n < 3:
        return 0.0, 1.0
    i, j = np.triu_indices(n, 1)
    score = float(np.sign(y[j] - y[i]).sum())
    _, ties = np.unique(y, return_counts=True)
    pairs = n * (n - 1) / 2
    tied = float((ties * (ties - 1) / 2).sum())
    if tied == pairs:
        return 0.0, 1.0
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    z = (abs(score) - 1) / math.sqrt(variance) if score else 0.0  # continuity: scores move in steps of two
    return score / math.sqrt(pairs * (pairs - tied)), math.erfc(max(z, 0.0) / math.sqrt(2))
