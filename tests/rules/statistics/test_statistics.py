"""The statistics against slower, obvious routes, and their false positives on noise that remembers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.record.run import Event
from bedside.record.series import Series
from bedside.rules.statistics import (
    autocorrelation_time,
    change_points,
    in_blocks,
    kendall,
    level_shift,
    mad,
    noise_level,
    segments,
    theil_sen,
    trend,
)
from bedside.testing import a_run


def a_series(values):
    return Series("loss", "", np.arange(len(values)), np.asarray(values, float))


def ar1(phi, n, rng):
    noise = rng.normal(size=n + 200)
    for i in range(1, len(noise)):
        noise[i] += phi * noise[i - 1]
    return noise[200:]


def share(hits):
    return float(np.mean(list(hits)))


def test_mad_is_sigma_for_normal_noise_and_ignores_outliers():
    values = np.random.default_rng(0).normal(scale=3, size=5000)
    values[:100] = 1e9
    assert mad(values) == pytest.approx(3, rel=0.1)


def test_noise_level_does_not_count_a_trend_or_a_step_as_noise():
    noise = np.random.default_rng(1).normal(scale=0.5, size=4000)
    curve = noise + np.linspace(100, 0, 4000) + 50 * (np.arange(4000) > 2000)
    assert noise_level(curve) == pytest.approx(0.5, rel=0.1)


def test_noise_level_of_a_rounded_curve_is_not_zero():
    assert noise_level(np.array([1.0, 1.0, 1.0, 1.1, 1.1, 1.1, 1.0, 1.0])) > 0
    assert noise_level(np.full(10, 2.0)) == 0


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_autocorrelation_time_is_that_of_the_process(phi):
    rng = np.random.default_rng(2)
    measured = np.median([autocorrelation_time(ar1(phi, 5000, rng)) for _ in range(20)])
    assert measured == pytest.approx((1 + phi) / (1 - phi), rel=0.25)


def test_a_falling_curve_or_a_spike_does_not_look_like_memory():
    rng = np.random.default_rng(3)
    curve = 5 / np.sqrt(np.arange(1, 2001)) + 0.05 * rng.normal(size=2000)
    curve[1000] = 100
    assert autocorrelation_time(curve) < 3


def test_blocks_hold_every_reading_once_and_the_last_block_is_full():
    blocks = in_blocks(a_series(np.arange(103.0)), size=10)
    assert len(blocks) == 10
    assert blocks.means[-1] == np.arange(93, 103).mean()
    assert blocks.means[0] == np.arange(13).mean()
    assert (blocks.first_steps[0], blocks.last_steps[-1]) == (0, 102)


def test_blocks_of_nothing_and_of_nan_are_empty():
    assert len(in_blocks(a_series([]))) == 0
    assert len(in_blocks(a_series([math.nan, math.inf]))) == 0


def test_theil_sen_is_the_median_slope_and_survives_wild_points():
    x, y = np.arange(30.0), 2 * np.arange(30.0) + 1
    y[::5] = 1e6
    assert theil_sen(x, y) == pytest.approx(2)


@pytest.mark.parametrize("seed", range(5))
def test_kendall_agrees_with_scipy(seed):
    from scipy.stats import kendalltau

    y = np.round(np.random.default_rng(seed).normal(size=40) + 0.03 * np.arange(40), 1)
    tau, p = kendall(y)
    theirs = kendalltau(np.arange(40), y, method="asymptotic")
    assert tau == pytest.approx(theirs.statistic)
    assert p == pytest.approx(theirs.pvalue, abs=0.03)  # ours is corrected for continuity


@pytest.mark.parametrize(("phi", "n", "most"), [(0.0, 50, 0.03), (0.0, 400, 0.03), (0.9, 400, 0.10), (0.9, 3000, 0.03)])
def test_noise_without_a_trend_is_rarely_called_one(phi, n, most):
    rng = np.random.default_rng(4)
    assert share(trend(a_series(ar1(phi, n, rng))).significant() for _ in range(200)) <= most


def test_a_slope_under_noise_that_remembers_is_seen():
    rng = np.random.default_rng(5)
    curves = (ar1(0.9, 1000, rng) + np.linspace(8, 0, 1000) for _ in range(50))
    assert share(trend(a_series(curve)).falling for curve in curves) > 0.9


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


def test_segments_are_cut_at_resumes_only():
    run = a_run(loss=np.arange(10.0), events=[Event(4, "resume"), Event(7, "epoch")])
    assert [len(piece) for piece in segments(run, run.loss)] == [4, 6]
    assert [len(piece) for piece in segments(a_run(loss=[1, 2]), a_run(loss=[1, 2]).loss)] == [2]
    assert segments(a_run(loss=[]), a_run(loss=[]).loss) == []
