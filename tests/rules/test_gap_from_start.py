from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.gap_from_start import gap_from_start
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=0.05, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / (time * n)) + noise * RNG.normal(size=n)


def test_speaks_when_the_first_evaluation_is_far_off_already():
    (finding,) = gap_from_start.check(a_run(loss=curve(3, 1, time=0.4), val_loss=8 + 0.3 * RNG.normal(size=12)))
    assert finding.first_step < 20


def test_stays_silent_when_the_two_are_on_different_scales():
    assert gap_from_start.check(a_run(loss=curve(3, 1, time=0.4), val_loss=3.2 * curve(3, 1, n=12, time=0.4))) == []


def test_compares_with_evaluated_training_data_where_there_are_some():
    val = 7.5 + 0.1 * RNG.normal(size=12)
    assert gap_from_start.check(a_run(loss=curve(9, 4, time=0.4), eval_train=1, val_loss=val)) == []
    both = {"loss": curve(9, 4, time=0.4), "val_loss": val, "eval_train/loss": curve(3, 1, n=12, time=0.4)}
    assert gap_from_start.check(a_run(**both))


@pytest.mark.parametrize(
    ("train", "val"),
    [
        (curve(3, 1, time=0.4), curve(3.1, 1.3, n=12, time=0.4)),
        (curve(3, 0.02, noise=0), np.linspace(1, 5, 12)),
        (curve(3, 1, time=0.4), curve(1, 0.5, n=12, time=0.4)),
        (curve(3, 0.1, time=0.1), 2.1 + 0.02 * RNG.normal(size=12)),
        (curve(-1, -3), curve(-0.1, -0.5, n=12)),
    ],
    ids=["ordinary gap", "overfitting", "below training", "a plateau", "negative"],
)
def test_stays_silent(train, val):
    assert gap_from_start.check(a_run(loss=train, val_loss=val)) == []


def test_is_not_examined_without_validation():
    assert isinstance(gap_from_start.examine(a_run(loss=curve(2, 1))), NotExamined)


@pytest.mark.parametrize(
    ("held_out", "finished", "speaks"),
    [
        (1.8 + 0.5 * np.exp(-np.arange(16) / 4), True, True),
        (1.8 + 0.5 * np.exp(-np.arange(16) / 4), None, False),
        (1.0 + 1.3 * np.exp(-np.arange(16) / 4), True, False),
        (np.linspace(2.3, 1.8, 16), True, False),
    ],
    ids=["it rests", "it may go on", "it arrived", "it catches up"],
)
def test_an_average_that_stays_near_where_it_began_is_not_what_was_trained(held_out, finished, speaks):
    run = a_run(loss=2.3 * np.exp(-np.arange(800) / 30) + 1e-3, val_loss=held_out, finished=finished)
    assert bool(gap_from_start.check(run)) is speaks


@pytest.mark.parametrize(
    ("last", "config", "speaks"), [(1.8, {"classes": 10}, True), (1.6, {"classes": 10}, False), (1.8, {}, False)]
)
def test_an_average_that_still_answers_like_a_blind_guess_need_not_have_come_to_rest(last, config, speaks):
    held_out = np.linspace(2.3, last, 16)
    run = a_run(loss=2.3 * np.exp(-np.arange(800) / 30) + 1e-3, val_loss=held_out, finished=True, config=config)
    assert bool(gap_from_start.check(run)) is speaks


def split(trained, asked, spread=0.95):
    look = Event(90, "evaluation_answers", {"kind": "classes", "each_label": asked, "examples": sum(asked)})
    run = a_run(loss=curve(2, 0.1), batch_label_spread=spread, config={"each_label": trained}, events=[look])
    return gap_from_start.check(run)


def test_speaks_of_classes_that_only_evaluations_ask_for():
    [found] = split([400, 0, 400, 400, 0], [20, 20, 20, 20, 20])
    assert found.message == (
        "40 % of the held-out labels are of the classes 1, 4, and none of the 1,200 training labels that were "
        "counted is."
    )


@pytest.mark.parametrize(
    ("trained", "asked", "spread"),
    [
        ([400, 3, 400, 400, 3], [20, 20, 20, 20, 20], 0.95),  # rare, but there
        ([400, 0, 400, 400, 400], [24, 4, 24, 24, 24], 0.95),  # a few
        ([20, 0, 20, 20, 20], [20, 20, 20, 20, 20], 0.95),  # few were counted
        ([400, 0, 400, 400, 0], [20, 20, 20, 20, 20], 0.2),  # the data come class by class
        ([400, 0, 400, 400], [20, 20, 20, 20, 20], 0.95),  # other classes
    ],
)
def test_says_nothing_of_classes_that_may_have_been_missed(trained, asked, spread):
    assert split(trained, asked, spread) == []


SIMPLE = {"linear": 0.1, "neighbours": 0.2, "guess": 0.9, "examples": 400, "kept": 400, "asked": 64, "classes": 10}


def beside_a_line(own=0.02, accuracy=0.4, **more):
    values = {"loss": curve(2.3, 0.05), "fit_error": [own] * 60, "val_accuracy": [accuracy] * 8} | more
    return gap_from_start.check(a_run(config={"simple_models": SIMPLE}, **values))


def test_speaks_when_held_out_answers_are_far_worse_than_those_of_a_line_and_training_is_fine():
    [finding] = beside_a_line()
    assert finding.message == (
        "The network is 2 % wrong on the examples that it trains on, and 60 % wrong at its best evaluation; a linear "
        "model, fitted to a few hundred training examples, is 10 % wrong on training examples that it was not fitted "
        "to."
    )


def test_a_loss_says_how_many_training_examples_are_wrong_at_most():
    [finding] = beside_a_line(fit_error=[])
    assert finding.evidence["training"] < 0.15
    assert beside_a_line(fit_error=[], loss=curve(2.3, 0.3)) == []


@pytest.mark.parametrize(
    "case",
    [
        {"own": 0.2},  # not so well in training either
        {"accuracy": 0.55},  # half of what the line knows: overfitting may take as much
    ],
)
def test_what_a_line_knows_may_be_lost_in_part(case):
    assert beside_a_line(**case) == []


def test_held_out_examples_for_which_the_line_does_not_hold_are_of_another_kind():
    carried = SIMPLE | {"carried_linear": 0.1, "carried_neighbours": 0.1}

    def told(held_out):
        config = {"simple_models": SIMPLE, "held_out_models": held_out}
        run = a_run(loss=curve(2.3, 0.05), fit_error=[0.02] * 60, held_out_error=[0.7] * 8, config=config)
        return gap_from_start.check(run)

    assert "10 % wrong on held-out examples" in told(carried)[0].message
    assert told(carried | {"carried_linear": 0.7, "carried_neighbours": 0.7}) == []
