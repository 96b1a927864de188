from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bedside.rules.statistics.quick import KEPT, SHORT, kept, median

readings = st.lists(st.floats(width=32) | st.integers(-3, 3).map(float), min_size=1, max_size=40)


@given(readings)
def test_the_median_is_numpys(values):
    with np.errstate(all="ignore"):
        expected = float(np.median(np.array(values)))
    found = median(np.array(values))
    assert found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize("n", [SHORT - 1, SHORT, SHORT + 1])
def test_the_median_of_many_is_numpys_as_well(n):
    values = np.random.default_rng(0).normal(size=n)
    assert median(values) == np.median(values)


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
