"""Swings are found at any period, and noise of any memory is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.statistics import cycle

RNG = np.random.default_rng(0)


def remembering(n, phi):
    values = np.zeros(n)
    for i in range(1, n):
        values[i] = phi * values[i - 1] + RNG.normal()
    return values


@pytest.mark.parametrize("period", [2, 4, 7, 9, 25, 40])
def test_finds_the_period_and_the_height(period):
    wave = np.cos(2 * np.pi * np.arange(400) / period) + 0.1 * RNG.normal(size=400)
    found = cycle(5 - np.arange(400) / 200 + wave)
    assert found is not None
    assert found.period == pytest.approx(period, abs=1)
    assert found.height == pytest.approx(2, abs=0.4)


def test_finds_a_swing_that_drifts_out_of_phase():
    swing = np.zeros(600)
    for k in range(2, 600):
        swing[k] = 2 * 0.985 * np.cos(2 * np.pi / 12) * swing[k - 1] - 0.985**2 * swing[k - 2] + RNG.normal()
    found = cycle(swing)
    assert found is not None
    assert found.period == pytest.approx(12, abs=2)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, 0.97])
def test_noise_is_no_swing(phi):
    assert sum(cycle(remembering(n, phi)) is not None for n in (60, 150, 400) for _ in range(40)) <= 1


def test_a_fall_and_a_short_curve_are_no_swings():
    assert cycle(3 * (1 + np.arange(300) / 10) ** -0.7) is None
    assert cycle(np.cos(np.arange(20))) is None
    assert cycle(np.ones(100)) is None


def test_batches_that_come_again_in_the_same_order_are_no_swing():
    assert cycle(np.tile(RNG.normal(size=60), 10)) is None
