from __future__ import annotations

import numpy as np
import pytest

from bedside.errors import NotEnough
from bedside.finding import NotExamined
from bedside.record.series import Series
from bedside.rules.underfitting import underfitting
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=0.05, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / (time * n)) + noise * RNG.normal(size=n)


def test_speaks_when_both_losses_stay_near_guessing():
    run = a_run(loss=curve(4.6, 4.1), val_loss=curve(4.4, 4.15, n=12), config={"num_classes": 100}, lr=1e-4)
    (finding,) = underfitting.check(run)
    assert "89 %" in finding.message or "90 %" in finding.message
    assert "from 1e-4 to about 3e-4" in finding.try_[1]


def test_speaks_when_the_accuracy_stays_at_nothing():
    assert underfitting.check(a_run(loss=curve(9, 6), val_loss=curve(9, 6.1, n=12), val_accuracy=[0.01] * 12))


def test_speaks_when_ten_classes_are_hardly_told_apart_and_both_losses_creep():
    train, val = curve(2.4, 1.6, time=0.3), curve(2.3, 1.62, n=20, time=0.3, noise=0.003)
    known = {"classes": 10}
    assert underfitting.check(a_run(loss=train, val_loss=val, val_accuracy=[0.19] * 20, config=known))
    assert underfitting.check(a_run(loss=train, val_loss=val, val_accuracy=[0.4] * 20, config=known)) == []


def narrow(width, end=1.1, time=0.3, gap=0.02):
    train, val = curve(2.3, end, time=time), curve(2.3, end + gap, n=20, time=time, noise=0.003)
    return a_run(loss=train, val_loss=val, val_accuracy=[0.5] * 20, config={"classes": 10, "narrowest": width})


def test_speaks_when_the_network_is_built_too_narrow_for_its_classes():
    (finding,) = underfitting.check(narrow(2))
    assert "passes through 2 units, for 10 classes" in finding.message
    assert finding.try_[-1] == "Widen the narrowest layer."


def test_a_narrow_network_may_creep_on_for_long_and_cannot_arrive():
    assert underfitting.check(narrow(2, time=0.45))
    assert not underfitting.check(narrow(64, time=0.45))


def test_a_narrow_network_may_have_a_gap_as_long_as_its_training_loss_is_the_greater_part():
    assert underfitting.check(narrow(2, gap=0.2))
    assert underfitting.check(narrow(2, gap=1.5)) == []


def test_stays_silent_when_a_narrow_network_learns_all_the_same_or_still_does():
    assert underfitting.check(narrow(2, end=0.3)) == []
    assert underfitting.check(narrow(2, time=1.0)) == []
    assert underfitting.check(narrow(4)) == []


@pytest.mark.parametrize(
    ("train", "val", "config"),
    [
        (curve(4.6, 1.1), curve(4.6, 1.2, n=12), {"num_classes": 100}),
        (curve(4.6, 4.1), curve(4.6, 4.9, n=12), {"num_classes": 100}),
        (np.linspace(4.6, 4.0, 200), np.linspace(4.6, 4.0, 12), {"num_classes": 100}),
        (curve(4.6, 4.1), curve(4.6, 4.15, n=12), {}),
        (curve(0.7, 0.6), curve(0.7, 0.61, n=12), {"num_classes": 2}),
    ],
    ids=["well trained", "a gap", "still falling", "nothing known", "two noisy classes"],
)
def test_stays_silent(train, val, config):
    assert underfitting.check(a_run(loss=train, val_loss=val, config=config)) == []


def test_is_not_examined_without_validation():
    assert isinstance(underfitting.examine(a_run(loss=curve(2, 1))), NotExamined)


SIMPLE = {"linear": 0.1, "neighbours": 0.2, "guess": 0.8, "examples": 128, "classes": 5, "asked": 64, "kept": 512}
SETTLED = [1.6, 1.3, 1.1] + [1.0, 1.02, 0.98, 1.01] * 60


def beaten(**more):
    values = {"loss": SETTLED, "fit_error": [0.7] * len(SETTLED), "config": {"simple_models": SIMPLE}} | more
    try:
        return [each for each in underfitting.check(a_run(**values)) if "linear" in each.message]
    except NotEnough:
        return []


def test_speaks_when_a_linear_model_does_better_on_the_same_examples():
    (finding,) = beaten()
    assert finding.message.startswith("The network is 70 % wrong on the examples that it trains on; a linear model")


@pytest.mark.parametrize(
    "other",
    [
        {"fit_error": [0.7] * 100 + [0.05] * (len(SETTLED) - 100)},  # it was behind at first
        {"fit_error": [0.3] * len(SETTLED)},  # and has won most of what a line wins
        {"config": {"simple_models": SIMPLE | {"linear": 0.75, "neighbours": 0.7}}},  # nothing to be won
        {"config": {}},
        {"val_accuracy": [0.5, 0.8, 0.88, 0.89, 0.9, 0.91]},  # dropout in training, and not in evaluation
        {"loss": [1.6 - 0.005 * k for k in range(len(SETTLED))]},  # under way
        {"fit_error": [0.8] * 200 + [0.75 - 0.01 * k for k in range(len(SETTLED) - 200)]},  # and so is this one
    ],
)
def test_is_silent_about_networks_that_keep_up_or_are_under_way(other):
    assert beaten(**other) == []


HELD_OUT = SIMPLE | {"carried_linear": 0.12, "carried_neighbours": 0.2}


def test_held_out_answers_bear_it_out_or_settle_it():
    config = {"simple_models": SIMPLE, "held_out_models": HELD_OUT}
    few = {"fit_error": Series("fit_error", "", np.array([200, 240]), np.array([0.7, 0.7])), "config": config}
    assert beaten(**few, held_out_error=[0.8] + [0.6] * 9)
    assert not beaten(**few, held_out_error=[0.8] + [0.3] * 9)  # no more than that: two batches prove little
    assert not beaten(held_out_error=[0.8] + [0.15] * 9, config=config)  # training alone is hard
    fits = {"fit_error": [0.05] * len(SETTLED), "held_out_error": [0.8] * 10}
    assert not beaten(**fits, config=config)  # what does not hold elsewhere is another matter


def test_a_run_that_is_long_over_need_not_have_settled():
    falls = {"loss": [1.6 - 0.005 * k for k in range(len(SETTLED))], "fit_error": [0.8] * 200 + [0.7] * 43}
    assert beaten(**falls, finished=True)
    assert not beaten(**falls, finished=False)  # it may come
    assert not beaten(**falls, finished=True, config={"simple_models": SIMPLE | {"asked": 4}})  # has seen too few
    assert not beaten(**falls | {"fit_error": [0.8] * 100 + [0.42] * 143}, finished=True)  # it won more than half


def test_a_place_that_is_too_narrow_shows_without_any_evaluation():
    narrow = {"classes": 10, "narrowest": 1}
    [found] = underfitting.check(a_run(loss=curve(2.3, 1.5), config=narrow))
    assert found.message.endswith("and whatever is known of an example passes through 1 unit, for 10 classes.")
    for run in (
        a_run(loss=curve(2.3, 0.6), config=narrow),
        a_run(loss=curve(2.3, 1.5), config=narrow | {"narrowest": 4}),
    ):
        with pytest.raises(NotEnough):
            list(underfitting.function(run, underfitting.limits))
