import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.inputs_differ import inputs_differ
from bedside.testing import a_run


def run(mean=0.0, std=1.0, *, train_mean=0.0, train_std=1.0, passes=3, size=4096):
    seen = {"mean": mean, "std": std, "max": 3.0, "nonfinite": False, "size": size}
    events = [Event(20 * step, "evaluation_input", seen) for step in range(1, passes + 1)]
    return a_run(loss=1.0, input_mean=train_mean, input_std=train_std, events=events)


def test_speaks_when_validation_was_not_divided_by_its_range():
    [finding] = inputs_differ.check(run(mean=4.9, std=6.0))
    assert "mean 4.9 and spread 6, training inputs mean 0 and spread 1" in finding.message


def test_speaks_when_only_the_mean_differs():
    assert inputs_differ.check(run(mean=0.0, std=1.0, train_mean=3.0, train_std=2.0))


def test_speaks_when_validation_inputs_are_far_smaller():
    assert inputs_differ.check(run(std=0.004))


def test_stays_silent_when_training_inputs_are_noisy_or_masked():
    assert not inputs_differ.check(run(mean=0.3, std=0.37, train_mean=0.25, train_std=0.45))


def test_stays_silent_when_training_batches_have_no_one_scale():
    wandering = np.linspace(0, 5, 100)
    assert not inputs_differ.check(run(mean=5.5, std=1.0, train_mean=list(wandering)))


def test_stays_silent_about_batches_too_small_to_tell():
    assert isinstance(inputs_differ.examine(run(mean=9.0, size=10)), NotExamined)


def test_says_so_when_there_was_one_evaluation_only():
    assert isinstance(inputs_differ.examine(run(mean=9.0, passes=1)), NotExamined)


def drifting(now, validation_now=1.0):
    first = {"mean": 0.0, "std": 1.0, "nonfinite": False, "size": 4096}
    events = [Event(step, "evaluation_input", first) for step in range(20, 180, 20)]
    events.append(Event(199, "evaluation_input", first | {"std": validation_now}))
    sizes = np.geomspace(1.0, now, 200)
    return a_run(loss=1.0, input_mean=[0.0] * 200, input_std=[1.0] * 200, input_rms=sizes, events=events)


def test_speaks_when_training_inputs_grow_away_from_those_of_validation():
    [found] = inputs_differ.check(drifting(4.0))
    assert "were 1" in found.message
    assert "in place" in found.try_[0]
    assert inputs_differ.check(drifting(0.2))


@pytest.mark.parametrize(("now", "validation_now"), [(2.4, 1.0), (4.0, 4.0)])
def test_stays_silent_when_inputs_change_a_little_or_those_of_validation_do_too(now, validation_now):
    assert inputs_differ.check(drifting(now, validation_now)) == []
