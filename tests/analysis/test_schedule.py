from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.schedule import schedule_is_over, warming_up
from bedside.testing import a_run


def cosine(readings, end=0.0):
    return end + (1 - end) * (1 + np.cos(np.linspace(0, np.pi, readings))) / 2


@pytest.mark.parametrize(("readings", "over"), [(30, True), (12, True), (8, False)])
def test_a_schedule_that_came_down_is_over_once_there_are_enough_readings(readings, over):
    assert schedule_is_over(a_run(lr=cosine(readings))) is over


@pytest.mark.parametrize(("end", "over"), [(0.09, True), (0.2, False)])
def test_it_is_over_at_a_tenth_of_its_peak_and_not_above(end, over):
    assert schedule_is_over(a_run(lr=cosine(40, end))) is over


@pytest.mark.parametrize(("rest", "rising"), [(8, True), (30, False)])
def test_a_rate_that_rested_for_long_before_it_rose_is_not_warming_up(rest, rising):
    rates = np.r_[np.full(rest, 1e-4), np.linspace(1.1e-4, 1e-3, 60)]
    assert warming_up(a_run(lr=rates)) is rising
