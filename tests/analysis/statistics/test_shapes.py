"""Swings, plateaus, repeats, and how sure to be: small functions with obvious answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.analysis.statistics import (
    flat_since,
    how_sure,
    in_blocks,
    is_rounded,
    repeats_at_end,
    still_learning,
    swings,
)
from bedside.record.series import Series


def a_series(values):
    return Series("loss", "", np.arange(len(values)), np.asarray(values, float))


def test_swings_need_to_come_down_in_between():
    values = np.array([9, 1, 5, 9, 8, 9, 0, 9.0])
    assert swings(values, low=1, high=9) == [3, 7]
    assert swings(values, low=np.full(8, -1.0), high=9) == []


def test_a_plateau_begins_where_nothing_more_is_won():
    rng = np.random.default_rng(0)
    settled = np.r_[np.linspace(5, 1, 100), np.ones(300)] + 0.02 * rng.normal(size=400)
    blocks = in_blocks(a_series(settled), most=40)
    assert flat_since(blocks) == pytest.approx(10, abs=1)
    falling = in_blocks(a_series(np.linspace(5, 1, 400)), most=40)
    assert flat_since(falling) >= 37


def test_repeats_count_only_to_the_last_digit():
    assert repeats_at_end(np.array([1.0, 2.0, 2.0, 2.0])) == 3
    assert repeats_at_end(np.array([1.0, 2.0, 2.0, 2.0 + 1e-15])) == 1
    assert repeats_at_end(np.empty(0)) == 0


@pytest.mark.parametrize("value", [0.0, 0.75, 0.693, float(np.float32(0.6931)), 3e-4, 120.0])
def test_numbers_of_few_digits_are_rounded(value):
    assert is_rounded(value)


def test_numbers_of_many_digits_are_not_rounded():
    assert not is_rounded(0.693147)
    assert not is_rounded(646.0821975)


def test_learning_has_ended_when_the_rate_is_nothing_of_its_peak():
    assert not still_learning(a_series([1.0, 0.5, 1e-4, 1e-5]), since=2)
    assert still_learning(a_series([1.0, 0.5, 0.1, 0.1]), since=2)
    assert still_learning(a_series([]), since=2)


def test_how_sure_grows_from_one_half_at_the_limit():
    assert how_sure(1, 1) == 0.5
    assert how_sure(2, 1) == 0.75
    assert how_sure(math.inf, 1) == how_sure(1e9, 1) == 0.99
    assert how_sure(0.5, 1) == 0.25
    assert how_sure(math.nan, 1) == 0
