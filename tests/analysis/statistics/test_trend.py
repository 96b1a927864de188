"""Trends against scipy, and their false positives on noise that remembers."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.statistics import kendall, theil_sen, trend
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
