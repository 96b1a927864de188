"""Change points where they are, and none where there is only noise."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.statistics import change_points, in_blocks, level_shift
from bedside.record.series import Series


def a_series(values):
    return Series("loss", "", np.arange(len(values)), np.asarray(values, float))


def ar1(phi, n, rng):
    noise = rng.normal(size=n + 200)
    for i in range(1, len(noise)):
        noise[i] += phi * noise[i - 1]
    return noise[200:]


def share(hits):
    return float(np.mean(list(hits)))


def test_a_step_is_found_where_it_is():
    rng = np.random.default_rng(6)
    curve = rng.normal(size=200) + 3 * (np.arange(200) >= 120)
    assert [pytest.approx(120, abs=3)] == change_points(curve)


def test_two_steps_are_found_and_a_single_outlier_is_none():
    curve = np.r_[np.zeros(40), np.full(40, 10.0), np.full(40, 4.0)] + np.random.default_rng(7).normal(size=120)
    assert change_points(curve) == [40, 80]


@pytest.mark.parametrize(("phi", "n", "most"), [(0.0, 50, 0.03), (0.0, 3000, 0.03), (0.9, 3000, 0.03)])
def test_noise_without_a_step_is_rarely_given_one(phi, n, most):
    rng = np.random.default_rng(8)
    assert share(bool(change_points(in_blocks(a_series(ar1(phi, n, rng))).means)) for _ in range(200)) <= most


def test_level_shift_is_in_units_of_the_spread_around_the_levels():
    rng = np.random.default_rng(9)
    shift = level_shift(rng.normal(size=500), rng.normal(size=500) + 5)
    assert shift.size == pytest.approx(5, abs=0.3)
    assert shift.sigmas == pytest.approx(5, abs=0.6)
    assert level_shift(np.ones(5), np.ones(5)).sigmas == 0
    assert level_shift(np.empty(0), np.ones(5)).sigmas == 0
