from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.record.series import Series
from bedside.rules.loss_without_accuracy import loss_without_accuracy
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=0.05, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / (time * n)) + noise * RNG.normal(size=n)


VAL = curve(2.3, 1.2, n=12)


def test_speaks_when_the_metric_never_moves():
    (finding,) = loss_without_accuracy.check(a_run(loss=VAL, val_loss=VAL, val_accuracy=[0.1135] * 12))
    assert "all 12 evaluations" in finding.message


@pytest.mark.parametrize(
    ("val", "metrics"),
    [
        (VAL, {"val_accuracy": np.linspace(0.1, 0.6, 12)}),
        (VAL, {"val_accuracy": [0.986] * 12}),
        (VAL, {"val_accuracy": [0.1135] * 12, "val_f1": np.linspace(0.1, 0.6, 12)}),
        (VAL, {"val_exact_match": [0.0] * 12}),
        (curve(2.3, 2.2, n=12), {"val_accuracy": [0.1135] * 12}),
    ],
    ids=["it moves", "saturated", "another one moves", "a strict one at zero", "the loss is flat too"],
)
def test_stays_silent(val, metrics):
    assert loss_without_accuracy.check(a_run(loss=val, val_loss=val, **metrics)) == []


GOOD = curve(2.2, 0.14, n=20)
GUESS = 0.1 + 0.012 * RNG.random(20)


def test_speaks_when_the_accuracy_of_a_guess_stands_beside_a_loss_it_cannot_belong_to():
    assert loss_without_accuracy.check(a_run(loss=GOOD, val_loss=GOOD, val_accuracy=GUESS, config={"classes": 10}))
    assert loss_without_accuracy.check(a_run(loss=[2.303, *GOOD], val_loss=GOOD, val_accuracy=100 * GUESS))


def test_stays_silent_when_they_may_belong_together():
    poor, known = curve(2.2, 1.6, n=20), {"classes": 10}
    assert loss_without_accuracy.check(a_run(loss=poor, val_loss=poor, val_accuracy=GUESS, config=known)) == []
    assert loss_without_accuracy.check(a_run(loss=poor, val_loss=poor, val_accuracy=GUESS)) == []


def test_speaks_when_the_accuracy_only_wobbles_by_thousandths():
    wobbling = 0.52 + 0.003 * RNG.normal(size=20)
    assert loss_without_accuracy.check(a_run(loss=GOOD, val_loss=GOOD, val_accuracy=wobbling))
    assert loss_without_accuracy.check(a_run(loss=GOOD, val_loss=GOOD, val_accuracy=100 * wobbling))


def test_stays_silent_when_it_creeps_up_within_the_wobble():
    creeping = 0.52 + np.linspace(0, 0.02, 20)
    assert loss_without_accuracy.check(a_run(loss=GOOD, val_loss=GOOD, val_accuracy=creeping)) == []


def test_speaks_of_a_training_accuracy_as_well():
    run = a_run(loss=curve(2.3, 0.5), **{"train/accuracy": 0.1 + 0.002 * RNG.normal(size=200)})
    (finding,) = loss_without_accuracy.check(run)
    assert "for all 200 readings" in finding.message
    learned = a_run(loss=curve(2.3, 0.5), **{"train/accuracy": np.linspace(0.1, 0.8, 200)})
    assert loss_without_accuracy.check(learned) == []


def test_is_not_examined_without_a_metric():
    assert isinstance(loss_without_accuracy.examine(a_run(loss=VAL, val_loss=VAL)), NotExamined)


def test_speaks_on_a_coarse_accuracy_of_a_guess():
    coarse = np.resize([0.0, 0.1, 0.2, 0.0, 0.1], 20)
    assert loss_without_accuracy.check(a_run(loss=GOOD, val_loss=GOOD, val_accuracy=coarse, config={"classes": 10}))
    zero = a_run(loss=GOOD, val_loss=GOOD, val_accuracy=[0.0] * 20, config={"classes": 10})
    assert loss_without_accuracy.check(zero) == []  # strict, perhaps


def three_evaluations(val, accuracy, classes=10, began=None):
    train = np.linspace(np.log(classes) if began is None else began, val[-1], 60)
    run = a_run(loss=train, val_loss=val, val_accuracy=accuracy, config={"classes": classes})
    return loss_without_accuracy.check(run)


def test_three_evaluations_that_contradict_arithmetic_are_enough():
    assert three_evaluations([0.52, 0.43, 0.35], [0.11, 0.05, 0.06], classes=2)  # half of them wrong, at most
    assert three_evaluations([2.0, 1.1, 0.3], [0.1, 0.08, 0.1])


def test_three_evaluations_are_not_enough_where_nothing_is_contradicted():
    assert not three_evaluations([2.0, 1.6, 1.1], [0.1, 0.08, 0.1])
    assert not three_evaluations([2.0, 1.1, 0.3], [0.2, 0.4, 0.9])
    assert not three_evaluations([0.5, 0.4, 0.3], [0.1, 0.1, 0.1], began=0.69)  # one loss per class, not per answer


def test_speaks_when_the_accuracy_only_scatters_as_a_small_held_out_set_does():
    val = np.linspace(2.25, 0.92, 20)
    right = 0.106 + 0.012 * np.resize([0, 1, -0.5, 0, -0.2, 0.5], 20)
    assert loss_without_accuracy.check(a_run(loss=val, val_loss=val, val_accuracy=right))


def test_stays_silent_when_an_accuracy_within_that_scatter_rises():
    val = np.linspace(2.25, 0.92, 20)
    assert not loss_without_accuracy.check(a_run(loss=val, val_loss=val, val_accuracy=np.linspace(0.095, 0.118, 20)))


@pytest.mark.parametrize("end", [3.7, 0.9])
def test_speaks_only_where_the_loss_is_better_than_a_blind_guess(end):
    falling = np.linspace(9.0, end, 12)
    run = a_run(loss=np.linspace(9.0, end, 300), val_loss=falling, val_accuracy=[0.0995] * 12, config={"classes": 10})
    assert bool(loss_without_accuracy.check(run)) == (end < 2.3)


def test_an_accuracy_that_rose_to_a_hair_above_one_has_not_stayed_where_it_was():
    loss = 0.02 + 0.67 * np.exp(-np.arange(120) / 30)
    accuracy = Series("train/accuracy", "", np.arange(120), 1.008 - 0.45 * np.exp(-np.arange(120) / 20))
    assert loss_without_accuracy.check(a_run(loss=loss, train_accuracy=accuracy)) == []


def test_one_score_of_nothing_counts_where_the_validation_loss_fell_far_and_it_is_no_exact_match():
    nothing = np.resize([0.0, 0.002, 0.001], 25)
    (finding,) = loss_without_accuracy.check(a_run(loss=GOOD, val_loss=GOOD, val_bleu=nothing))
    assert "val/bleu never came above 0.002" in finding.message
    assert loss_without_accuracy.check(a_run(loss=GOOD, val_loss=GOOD, val_exact_match=nothing)) == []
    assert (
        loss_without_accuracy.check(a_run(loss=GOOD, val_loss=[2.3 - 0.001 * k for k in range(25)], val_bleu=nothing))
        == []
    )


FLAT = {"train/accuracy": 0.45 + 0.004 * RNG.normal(size=20)}


def test_speaks_when_no_accuracy_moves_though_the_loss_fell_by_little():
    val = curve(0.52, 0.45, n=20, time=0.1, noise=0.001)
    run = a_run(loss=val + 0.1, val_loss=val, val_accuracy=[0.72414] * 20, **FLAT)
    assert [found.name for found in loss_without_accuracy.check(run)] == ["loss-without-accuracy"]
    seldom_lower = [0.72414, 0.72414, 0.70690, 0.72414] * 5
    assert loss_without_accuracy.check(a_run(loss=val + 0.1, val_loss=val, val_accuracy=seldom_lower, **FLAT))


@pytest.mark.parametrize(
    "metrics",
    [
        {"val_accuracy": [0.72414] * 20},
        {"val_accuracy": [0.72414] * 20, "train/accuracy": np.linspace(0.45, 0.6, 20)},
        {"val_accuracy": np.linspace(0.70001, 0.74003, 20), **FLAT},
        {"val_accuracy": [0.72] * 20, **FLAT},
        {"val_accuracy": [0.72414] * 20, "val_auc": np.linspace(0.6, 0.8, 20), **FLAT},
    ],
    ids=["no training accuracy", "training gains", "validation gains", "two digits", "another score gains"],
)
def test_stays_silent_where_something_else_may_explain_it(metrics):
    val = curve(0.52, 0.45, n=20, time=0.1, noise=0.001)
    assert loss_without_accuracy.check(a_run(loss=val + 0.1, val_loss=val, **metrics)) == []


def passes_over(loss=0.04, right=0.53, logged=None, first=2.3, looks=4):
    """Evaluations after every tenth step whose answers were counted."""
    logged = right if logged is None else logged
    seen = {"kind": "classes", "right": right, "examples": 200}
    events = [Event(10 * (k + 1), "evaluation_answers", seen) for k in range(looks)]
    at = {10 * (k + 1) - 1 for k in range(looks)}
    val_loss = [loss if step in at else math.nan for step in range(60)]
    accuracy = [logged if step in at else math.nan for step in range(60)]
    run = a_run(
        loss=np.linspace(first, 0.03, 60),
        val_loss=val_loss,
        val_accuracy=accuracy,
        config={"classes": 10},
        events=events,
    )
    return loss_without_accuracy.check(run)


def test_speaks_when_more_of_the_counted_answers_are_wrong_than_the_loss_leaves_room_for():
    [found] = passes_over()
    assert "leaves room for 6 % of wrong answers" in found.message
    assert "47 % of the 200 answers" in found.message


@pytest.mark.parametrize(
    "other",
    [
        {"loss": 0.1},  # a focal loss may be as low
        {"right": 0.7},
        {"logged": 0.1},  # an exact match: another kind of answer
        {"first": 1.0},  # on a scale of its own
        {"looks": 2},
    ],
)
def test_lets_a_loss_be_that_may_be_as_low(other):
    assert not any("passes over" in found.message for found in passes_over(**other))
