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
