from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.schedule import read_schedule, schedule_is_over, warming_up
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


def cosine_in(total, steps):
    return 1e-3 * 0.5 * (1 + np.cos(np.pi * np.minimum(np.arange(steps) / total, 1)))


def test_a_cosine_that_ends_with_the_run_has_not_run_out():
    schedule = read_schedule(a_run(lr=cosine_in(400, 400)))
    assert not schedule.ran_out
    assert schedule.steps_after_vanishing < 0.05


def test_a_cosine_that_ends_halfway_has_run_out():
    schedule = read_schedule(a_run(lr=cosine_in(200, 400)))
    assert schedule.ran_out
    assert 0.45 < schedule.steps_after_vanishing < 0.55


def test_an_exponential_decay_vanishes_without_running_out():
    schedule = read_schedule(a_run(lr=1e-3 * 0.9 ** np.arange(400)))
    assert not schedule.ran_out
    assert schedule.steps_after_vanishing > 0.8


def test_warm_up_ends_at_the_first_reading_of_the_peak():
    schedule = read_schedule(a_run(lr=np.r_[np.linspace(1e-5, 1e-3, 50), np.full(50, 1e-3)]))
    assert schedule.warm == 49
    assert schedule.steps_after_vanishing == 0


def test_there_is_no_schedule_when_the_rate_is_always_zero():
    assert read_schedule(a_run(lr=0.0)) is None


def test_a_rate_that_rises_late_is_no_warm_up():
    assert warming_up(a_run(loss=[1.0] * 100, lr=np.linspace(1e-5, 1e-3, 100)))
    late = np.r_[np.full(60, 1e-4), np.linspace(1e-4, 1e-2, 40)]
    assert not warming_up(a_run(loss=[1.0] * 100, lr=late))
