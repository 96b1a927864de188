from __future__ import annotations

import numpy as np

from bedside.analysis.statistics import sways, swings


def test_counts_returns_to_a_level():
    assert swings(np.array([2.0, 0.5, 2.0, 1.4, 2.0, 0.4, 2.1]), low=1.0, high=2.0) == [2, 6]


def test_counts_rises_that_came_down_again():
    assert sways(np.array([3.0, 1.0, 2.1, 2.5, 1.2, 1.9, 2.3, 0.5]), by=1.0) == [2, 6]


def test_a_rise_that_stays_and_a_long_fall_are_no_sways():
    assert sways(np.array([1.0, 2.5, 3.0, 2.6]), by=1.0) == []
    assert sways(np.array([5.0, 4.0, 2.0, 1.0]), by=1.0) == []
    assert sways(np.empty(0), by=1.0) == []
