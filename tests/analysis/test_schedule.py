from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.schedule import planned_steps, read_schedule, schedule_is_over, schedulers, warming_up
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


@pytest.mark.parametrize(("fall", "ran_out"), [(5, False), (15, True)])
def test_a_rate_that_is_switched_off_within_ten_readings_has_not_run_out(fall, ran_out):
    rates = np.r_[np.full(50, 1e-3), np.linspace(1e-3, 0, fall + 1), np.zeros(100)]
    assert read_schedule(a_run(lr=rates)).ran_out is ran_out


@pytest.mark.parametrize(("fall", "ran_out"), [(15, False), (30, True)])
def test_in_a_long_run_a_fall_takes_a_fiftieth_of_it(fall, ran_out):
    rates = np.r_[np.full(400, 1e-3), np.linspace(1e-3, 0, fall + 1), np.zeros(600)]
    rates[:400] = np.linspace(0.9e-3, 0.999e-3, 400)  # so that the peak is where the fall begins
    assert read_schedule(a_run(lr=rates)).ran_out is ran_out


@pytest.mark.parametrize(("levels", "ran_out"), [(5, False), (8, True)])
def test_a_step_wise_schedule_of_a_few_levels_does_not_run_out(levels, ran_out):
    stairs = np.repeat(np.geomspace(1e-3, 2e-6, levels), 20)
    assert read_schedule(a_run(lr=np.r_[stairs, np.full(200, 1e-9)])).ran_out is ran_out


def test_rates_that_differ_by_less_than_a_quarter_percent_are_one_level():
    nearly = 1e-3 * (1 + 1e-4 * np.arange(40))
    assert read_schedule(a_run(lr=np.r_[nearly, 1e-9])).levels(0, 40) <= 3


def test_a_zero_that_was_printed_may_be_a_small_rate():
    run = a_run(lr=np.r_[1e-3, np.full(50, 0.0)])
    assert read_schedule(run).vanished == 1
    run.environment["rounded"] = {"lr": 5e-5}
    assert read_schedule(run).vanished == 51


@pytest.mark.parametrize(
    ("config", "axis", "planned"),
    [
        ({"max_steps": 500}, "step", 500),
        ({"max_steps": 500}, "epoch", 0),
        ({"epochs": 20}, "step", 20),
        ({"epochs": 90}, "step", 0),
        ({"epochs": 90}, "epoch", 90),
        ({"epochs": "many"}, "epoch", 0),
        ({"epochs": -1}, "epoch", 0),
        ({}, "step", 0),
    ],
)
def test_the_plan_is_what_the_settings_say_in_the_unit_of_the_log(config, axis, planned):
    run = a_run(loss=[1.0] * 20, config=config)
    run.axis = axis
    assert planned_steps(run) == planned


def test_a_scheduler_that_was_made_and_never_called_is_known():
    assert schedulers(a_run(loss=1.0)) == []
    assert schedulers(a_run(loss=1.0, config={"scheduler_attached": True})) == [{"name": "A scheduler", "stepped": 0}]
    assert schedulers(a_run(loss=1.0, config={"scheduler": "cosine", "scheduler_attached": True})) == [
        {"name": "cosine"}
    ]


@pytest.mark.parametrize("rates", [[1e-4, 1e-3], [1e-3] * 30, [1e-4, 2e-4, 1e-4, 3e-4]])
def test_two_readings_a_constant_rate_and_one_that_falls_are_no_warm_up(rates):
    assert not warming_up(a_run(lr=rates))
