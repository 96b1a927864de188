"""Isolated excursions are found where they are, with their height and their way back."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.statistics import spikes


def falling(n=500, noise=0.02, seed=0):
    return (1 + 3 * np.exp(-np.arange(n) / 80)) * np.exp(noise * np.random.default_rng(seed).normal(size=n))


def test_finds_a_single_reading_and_its_height():
    values = falling()
    values[300] = 9
    (spike,) = spikes(values, positive=True)
    assert (spike.first, spike.peak, spike.last, spike.back) == (300, 300, 300, True)
    assert spike.height == pytest.approx(8, abs=0.3)


def test_follows_a_slow_return_to_its_end():
    values = falling()
    values[200:] *= 1 + 3 * np.exp(-np.arange(300) / 20)
    (spike,) = spikes(values, positive=True)
    assert spike.first == 200
    assert 25 < spike.last - 200 < 60


def test_a_new_level_does_not_come_back():
    values = falling()
    values[300:] += 5
    (spike,) = spikes(values, positive=True)
    assert not spike.back


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_has_no_spikes(seed):
    assert spikes(falling(seed=seed), positive=True) == []
    assert spikes(np.random.default_rng(seed).laplace(size=500), positive=False) == []


def test_short_curves_have_none():
    assert spikes(np.array([1.0, 9.0, 1.0]), positive=True) == []
