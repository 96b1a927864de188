import pytest

from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.unmatched_noise import unmatched_noise
from bedside.testing import a_run

GOOD = {"columns": 64, "samples": 256, "mean": 0.7, "least": 0.02, "most": 0.99, "cleanest_size": 0.8, "by_time": 0.99}


def run(**changed):
    return a_run(loss=0.5, events=[Event(8, "asked_noise", GOOD | changed)])


def test_stays_silent_when_noise_goes_with_time_and_ends_at_all():
    assert not unmatched_noise.check(run())


@pytest.mark.parametrize(("mean", "speaks"), [(0.031, True), (0.033, False)])
def test_speaks_when_the_noise_is_another_one(mean, speaks):
    found = unmatched_noise.check(run(mean=mean))
    assert [("not in the input" in each.message) for each in found] == [True] * speaks


@pytest.mark.parametrize(("by_time", "speaks"), [(0.29, True), (0.31, False), (-0.9, False)])
def test_speaks_when_the_time_step_says_nothing_of_the_noise(by_time, speaks):
    found = unmatched_noise.check(run(by_time=by_time))
    assert [("time step" in each.message) for each in found] == [True] * speaks


def test_says_nothing_of_time_steps_that_it_has_not_seen():
    without = {key: value for key, value in GOOD.items() if key != "by_time"}
    assert not unmatched_noise.check(a_run(loss=0.5, events=[Event(8, "asked_noise", without)]))


@pytest.mark.parametrize(("most", "speaks"), [(0.79, True), (0.81, False)])
def test_speaks_when_the_last_step_is_still_data(most, speaks):
    found = unmatched_noise.check(run(most=most))
    assert [("mostly data" in each.message) for each in found] == [True] * speaks


@pytest.mark.parametrize(("least", "speaks"), [(0.49, True), (0.51, False)])
def test_lets_a_model_for_one_level_of_noise_be(least, speaks):
    assert bool(unmatched_noise.check(run(least=least, most=0.6))) is speaks


@pytest.mark.parametrize(("size", "speaks"), [(3.1, True), (2.9, False)])
def test_speaks_when_the_data_drown_the_noise(size, speaks):
    found = unmatched_noise.check(run(cleanest_size=size))
    assert [("Scale the data" in each.try_[0]) for each in found] == [True] * speaks


def test_needs_a_model_that_is_asked_for_noise():
    assert isinstance(unmatched_noise.examine(a_run(loss=0.5)), NotExamined)
