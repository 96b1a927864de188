"""A curve as a few dozen means, each over more readings than its noise remembers, so that they are independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics.noise import autocorrelation_time, noise_level
from bedside.record.median import median, medians
from bedside.record.series import Series, Steps, Values

MIN_BLOCKS = 8  # with fewer no trend is beyond chance; longer memory looks like the curve's own shape anyway
MEMORY = 1.5  # readings of autocorrelation time: white noise is estimated below it
MAX_BLOCKS = 40  # Kendall on 40 sees a fall of one noise level over the curve; more only costs time


@dataclass(frozen=True)
class Blocks:
    """Means of consecutive readings: `means[i]` covers `first_steps[i]` to `last_steps[i]`."""

    first_steps: Steps
    last_steps: Steps
    means: Values
    medians: Values
    size: int  # readings in a block; the first block may hold a few more

    def __len__(self) -> int:
        return len(self.means)

    @property
    def noise(self) -> float:
        """σ of one block mean, from the differences between neighbours."""
        return noise_level(self.means)


def in_blocks(series: Series, *, most: int = MAX_BLOCKS, size: int | None = None) -> Blocks:
    """The finite readings of `series` in at most `most` blocks; `size` fixes the readings in a block instead.

    A block is two autocorrelation times long or longer, as long as that leaves eight of them. Blocks hold equally many
    readings, and readings that do not fill a block go to the first one, so that the present is never judged on a short
    block.
    """
    finite = series.finite()
    n = len(finite)
    if n == 0:
        nothing = np.empty(0)
        return Blocks(np.empty(0, np.int64), np.empty(0, np.int64), nothing, nothing, size or 1)
    if size is None:
        memory = autocorrelation_time(finite.values)
        independent = int(np.ceil(2 * memory)) if memory > MEMORY else 1
        size = max(-(-n // most), min(independent, n // MIN_BLOCKS))
    size = max(1, min(size, n))
    starts = np.arange(n % size, n, size)
    starts[0] = 0
    stops = np.append(starts[1:], n)
    means = np.add.reduceat(finite.values, starts) / (stops - starts)
    first = int(stops[0])  # the only block that may hold more than the others
    rest = medians(finite.values[first:].reshape(-1, size))
    typical = np.concatenate([[median(finite.values[:first])], rest])
    return Blocks(finite.steps[starts], finite.steps[stops - 1], means, typical, size)
