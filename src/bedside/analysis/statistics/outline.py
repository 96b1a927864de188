"""A curve without its wiggles: running medians at no more than a few hundred places, and the levels that matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics.block_means import in_blocks
from bedside.analysis.statistics.cached import kept
from bedside.analysis.statistics.noise import noise_level, wander
from bedside.record.median import median, medians
from bedside.record.series import Series, Steps, Values

PLACES = 400  # as fine as a plot on a screen; an onset is then refined on the readings themselves
WINDOW = 5  # places in a running median: two wild ones in a row do not move it
LAST = 0.05  # of the readings make "now": short enough to notice an end that went wrong
MIN_NOW, MAX_NOW = 3, 10  # readings: the median of three ignores one; ten are as good as a hundred, and sooner


@dataclass(frozen=True)
class Outline:
    """`values` at `steps` follow the curve with its noise taken out; `noise` is the σ of one reading around it."""

    steps: Steps
    values: Values
    noise: float
    wander: float  # σ of the slow deviations as well: what a level may differ by without meaning anything
    start: float  # the level it began at: the first reading or the first median, whichever is higher
    now: float  # the median of the last twentieth of the readings, three to ten of them

    @property
    def best(self) -> float:
        """The lowest level it ever had."""
        return float(self.values.min())

    @property
    def best_place(self) -> int:
        """Index of the last time it was at its lowest."""
        return len(self.values) - 1 - int(np.argmin(self.values[::-1]))

    @property
    def progress(self) -> float:
        """What was won since the start; never negative."""
        return max(0.0, self.start - self.best)

    def stays_above(self, level: float) -> int:
        """Index from which the curve never comes back to `level`; its length if it is there at the end."""
        below = np.flatnonzero(self.values <= level)
        return int(below[-1]) + 1 if len(below) else 0


def outline(series: Series) -> Outline:
    """The outline of the finite readings of `series`; there must be at least one."""
    finite = series.finite()
    n = len(finite)
    if n > PLACES:
        blocks = in_blocks(finite, size=-(-n // PLACES))
        steps, values = blocks.first_steps, blocks.medians
    else:
        steps, values = finite.steps, finite.values
    smooth = running_median(values, WINDOW if len(values) >= 3 * WINDOW else 3)
    now = median(finite.values[-min(MAX_NOW, max(MIN_NOW, int(LAST * n))) :])
    start = max(float(finite.values[0]), float(smooth[0]))
    return Outline(steps, smooth, noise_level(finite.values), wander(finite.values), start, now)


def lowest_reading(series: Series, curve: Outline) -> tuple[int, float]:
    """The step and the value of the lowest reading near the best level of its outline: numbers that can be looked up.

    >>> dip = Series("loss", "", range(8), [3.0, 2.0, 1.2, 0.9, 1.1, 1.5, 1.8, 2.0])
    >>> lowest_reading(dip, outline(dip))
    (3, 0.9)
    """
    place = curve.best_place
    first, last = curve.steps[max(0, place - 1)], curve.steps[min(len(curve.steps) - 1, place + 1)]
    near = series.finite().since(int(first)).before(int(last) + 1)
    lowest = int(np.argmin(near.values))
    return int(near.steps[lowest]), float(near.values[lowest])


@kept
def running_median(values: Values, window: int) -> Values:
    """Medians of `window` (odd) neighbours; towards the ends of fewer, so that every one is centred."""
    half = window // 2
    smooth = values.astype(np.float64, copy=True)
    if len(values) >= window:
        smooth[half : len(values) - half] = medians(np.lib.stride_tricks.sliding_window_view(values, window))
    for i in range(1, min(half, (len(values) + 1) // 2)):
        smooth[i] = median(values[: 2 * i + 1])
        smooth[-i - 1] = median(values[-2 * i - 1 :])
    smooth.flags.writeable = False  # every rule that asks gets this one
    return smooth
