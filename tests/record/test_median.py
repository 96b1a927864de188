from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bedside.record.median import SHORT, median, medians

readings = st.floats(width=32) | st.integers(-3, 3).map(float)


@given(st.lists(readings, min_size=1, max_size=40))
def test_the_median_is_numpys(values):
    with np.errstate(all="ignore"):
        expected = float(np.median(np.array(values)))
    found = median(np.array(values))
    assert found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize("n", [SHORT - 1, SHORT, SHORT + 1])
def test_the_median_of_many_is_numpys_as_well(n):
    values = np.random.default_rng(0).normal(size=n)
    assert median(values) == np.median(values)


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.lists(readings, min_size=n, max_size=n), min_size=1)))
def test_the_medians_of_rows_are_numpys(rows):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(medians(np.array(rows)), np.median(np.array(rows), axis=1))
