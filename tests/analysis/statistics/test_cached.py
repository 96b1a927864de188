from __future__ import annotations

import numpy as np

from bedside.analysis.statistics.cached import KEPT, kept


def test_a_curve_is_asked_once_and_long_ones_are_not_kept():
    asked = []

    @kept
    def total(values, times=1):
        asked.append(len(values))
        return times * float(values.sum())

    short, long = np.ones(5), np.ones(KEPT + 1)
    assert [total(short), total(short.copy()), total(short, 2), total(short, 2)] == [5.0, 5.0, 10.0, 10.0]
    assert total(short + 1) == 10.0
    assert asked == [5, 5, 5]
    total(long), total(long)
    assert asked[3:] == [KEPT + 1] * 2
