import numpy as np

from bedside.analysis.schedule import read_schedule, warming_up
from bedside.testing import a_run


def cosine(total, steps, floor=0.0):
    phase = np.minimum(np.arange(steps) / total, 1)
    return 1e-3 * (floor + (1 - floor) * 0.5 * (1 + np.cos(np.pi * phase)))


def test_a_cosine_that_ends_with_the_run_has_not_run_out():
    schedule = read_schedule(a_run(lr=cosine(400, 400)))
    assert not schedule.ran_out
    assert schedule.steps_after_vanishing < 0.05


def test_a_cosine_that_ends_halfway_has_run_out():
    schedule = read_schedule(a_run(lr=cosine(200, 400)))
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
