"""How much a curve wiggles: against known noise."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.statistics import autocorrelation_time, mad, noise_level, wander


def ar1(phi, n, rng):
    noise = rng.normal(size=n + 200)
    for i in range(1, len(noise)):
        noise[i] += phi * noise[i - 1]
    return noise[200:]


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


def test_wander_sees_noise_that_remembers_and_not_the_shape_of_the_curve():
    rng = np.random.default_rng(10)
    slow = 0.1 * ar1(0.95, 2000, rng)
    assert wander(slow) > 2 * noise_level(slow)
    assert wander(5 * np.exp(-np.arange(2000) / 300) + slow) == pytest.approx(wander(slow), rel=0.3)
    assert wander(np.array([3.0, 2.0, 1.0])) == 0
