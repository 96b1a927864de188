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


OWN = {"linear": 0.1, "neighbours": 0.2, "guess": 0.9, "examples": 400, "kept": 512, "asked": 32, "classes": 10}
WITHIN = {"linear": 0.12, "neighbours": 0.2, "guess": 0.9, "examples": 300, "classes": 10}


def of_simple_models(network, carried=0.1, own=0.1, **more):
    held_out = WITHIN | {"carried_linear": carried, "carried_neighbours": carried + 0.05} | more
    training = OWN | {"linear": own, "neighbours": own + 0.05}
    config = {"simple_models": training | {"places": False}, "held_out_models": held_out}
    return inputs_differ.check(a_run(loss=1.0, held_out_error=[0.9, network, network], config=config))


def test_speaks_when_each_set_is_easy_by_itself_and_one_does_not_help_with_the_other():
    [finding] = of_simple_models(network=0.8, carried=0.85)
    assert finding.message == (
        "What holds for training examples does not hold for validation: a linear model, fitted to some of them, is "
        "10 % wrong on others, and 85 % wrong on validation examples, while a linear model, fitted to some validation "
        "examples, is 12 % wrong on others of them; the network is 80 % wrong at its best evaluation."
    )


def test_speaks_when_training_examples_are_made_so_hard_that_the_network_is_worse_than_a_line():
    [finding] = of_simple_models(network=0.22, carried=0.4, own=0.4)
    assert finding.message.startswith("Training examples are much harder than validation examples")


@pytest.mark.parametrize(
    "other",
    [
        {"network": 0.1, "carried": 0.85},  # the network copes with what a line does not
        {"network": 0.1, "carried": 0.4, "own": 0.4},  # augmentation that does its work
        {"network": 0.8, "carried": 0.2},  # the network is at fault, not the data
        {"network": 0.8, "carried": 0.85, "linear": 0.85, "neighbours": 0.85},  # nothing to be found in validation
        {"network": 0.8, "carried": 0.85, "examples": 100},  # too few to tell
    ],
)
def test_stays_silent_where_a_simple_model_proves_nothing_against_the_data(other):
    assert of_simple_models(**other) == []
