"""Parts of a series that count by their length in steps, not by how closely they happened to be read.

The first steps of a run are recorded in full and later ones now and then, so a plain median over the readings would
be a median over the first minutes.

>>> from bedside.record.series import Series
>>> read = Series("grad_norm", "", [*range(100), *range(500, 10_001, 500)], [0.0] * 100 + [1.0] * 20)
>>> read.median(), spread_evenly(read).median()
(0.0, 1.0)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bedside.record.series import Series

CLOSE = 0.75  # of the usual distance: readings nearer than that were taken more closely
MIN_READINGS = 5  # readings that make a median of their own; with fewer, the early ones are all there is to judge by


def spread_evenly(series: Series, start: float = 0.0) -> Series:
    """The readings after the first `start` of the time they span, thinned where they were taken more closely."""
    if len(series) < 2:
        return series
    first, last = series.first_step, series.last_step
    after = series.since(first + int(start * (last - first)))
    even = _thinned(after)
    if len(even) >= MIN_READINGS:
        return even
    return series.tail(len(series) - int(start * len(series)))


def second_half(series: Series) -> Series:
    return spread_evenly(series, 0.5)


def since_below(series: Series, level: float) -> int:
    """The step from which on the series, but for a lone reading, stayed below `level`: where a condition set in.

    >>> since_below(Series("x", "", range(9), [5, 5, 5, 0, 0, 0, 5, 0, 0]), 1)
    3
    """
    return _since(series.finite(), series.finite().values < level)


def since_above(series: Series, level: float) -> int:
    """The same for a series that stayed above `level`."""
    return _since(series.finite(), series.finite().values > level)


def _since(series: Series, holds: NDArray[np.bool_]) -> int:
    lasting = np.flatnonzero(~holds[1:] & ~holds[:-1]) + 1  # two in a row that do not
    place = int(lasting[-1]) + 1 if len(lasting) else int(not holds[0])
    return int(series.steps[min(place, len(series) - 1)])


def _thinned(series: Series) -> Series:
    """Keep the readings that are about as far apart as those which cover half of the time are."""
    gaps = np.diff(series.steps)
    if len(gaps) < 2:
        return series
    order = np.sort(gaps)
    usual = order[int(np.searchsorted(np.cumsum(order), order.sum() / 2))]  # by length: half of the time has such gaps
    if usual <= 2 * order[0]:
        return series
    steps, apart = series.steps.tolist(), CLOSE * float(usual)
    kept = [len(series) - 1]
    for index in range(len(series) - 2, -1, -1):
        if steps[kept[-1]] - steps[index] >= apart:
            kept.append(index)
    chosen = np.array(kept[::-1])
    return Series(series.vital, series.owner, series.steps[chosen], series.values[chosen])
