from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.rules.overconfident import overconfident
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=0.05, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / (time * n)) + noise * RNG.normal(size=n)


VAL = curve(2, 0.5, n=20, time=0.1, noise=0.0) + 0.06 * np.maximum(0, np.arange(20) - 6)
TRAIN = curve(2, 0.01, time=0.3)


def test_speaks_when_the_loss_rises_under_a_steady_accuracy():
    accuracy = np.tile([0.9, 0.902, 0.9, 0.898], 5)  # no draw, which would depend on the tests that ran before
    (finding,) = overconfident.check(a_run(loss=TRAIN, val_loss=VAL, val_accuracy=accuracy))
    assert "val/accuracy stayed at 0.9" in finding.message


@pytest.mark.parametrize(
    ("val", "accuracy"),
    [
        (VAL, np.r_[np.linspace(0.6, 0.9, 8), np.linspace(0.9, 0.7, 12)]),
        (curve(2, 0.5, n=20), np.full(20, 0.9)),
        (0.5 + 0.01 * np.arange(20), np.full(20, 0.9)),
    ],
    ids=["overfitting", "loss is fine", "loss drifts a little"],
)
def test_stays_silent(val, accuracy):
    assert overconfident.check(a_run(loss=TRAIN, val_loss=val, val_accuracy=accuracy)) == []


def test_is_only_a_note_while_the_accuracy_still_improves():
    (finding,) = overconfident.check(a_run(loss=TRAIN, val_loss=VAL, val_accuracy=np.linspace(0.6, 0.9, 20)))
    assert finding.severity == Severity.NOTE
    assert "still improves" in finding.message


def test_speaks_when_the_accuracy_improved_only_at_first():
    crept = np.r_[np.linspace(0.6, 0.8, 6), np.linspace(0.8, 0.83, 4), np.full(10, 0.83)]
    (finding,) = overconfident.check(a_run(loss=TRAIN, val_loss=VAL, val_accuracy=crept))
    assert finding.severity == Severity.WARNING


def test_names_the_reading_of_the_step_it_names():
    (finding,) = overconfident.check(a_run(loss=TRAIN, val_loss=VAL, val_accuracy=[0.9] * 20))
    run = a_run(loss=TRAIN, val_loss=VAL)
    assert finding.evidence["best"] == run.series("val/loss").since(finding.first_step).values[0]


def test_is_not_examined_without_a_metric():
    assert isinstance(overconfident.examine(a_run(loss=TRAIN, val_loss=VAL)), NotExamined)


def test_speaks_when_the_loss_is_far_more_than_the_mistakes_can_cost():
    loud = 4.0 + 0.3 * RNG.normal(size=20)
    known = {"classes": 10}
    assert overconfident.check(a_run(loss=TRAIN, val_loss=loud, val_accuracy=[0.92] * 20, config=known))
    assert overconfident.check(a_run(loss=TRAIN, val_loss=loud, val_accuracy=[0.4] * 20, config=known)) == []


def test_stays_silent_when_the_losses_are_sums():
    summed = a_run(loss=600 * TRAIN, val_loss=[900.0] * 20, val_accuracy=[0.92] * 20, config={"classes": 10})
    assert overconfident.check(summed) == []


def test_stays_silent_when_training_is_as_unsure_and_when_there_are_no_mistakes():
    known, timid = {"classes": 10}, curve(2.3, 1.5)
    assert overconfident.check(a_run(loss=timid, val_loss=[1.5] * 20, val_accuracy=[0.95] * 20, config=known)) == []
    assert (
        overconfident.check(a_run(loss=TRAIN / 100, val_loss=[0.05] * 20, val_accuracy=[1.0] * 20, config=known)) == []
    )


@pytest.mark.parametrize(
    ("config", "advice"),
    [
        ({"weight_decay": 0.0}, "Label smoothing of 0.1."),
        ({"weight_decay": 0.01}, "Label smoothing of 0.1, or twice the weight decay (0.02)."),
        ({}, "Label smoothing of 0.1, or twice the weight decay."),
    ],
)
def test_twice_no_weight_decay_is_not_advised(config, advice):
    accuracy = np.tile([0.9, 0.902, 0.9, 0.898], 5)
    (finding,) = overconfident.check(a_run(loss=TRAIN, val_loss=VAL, val_accuracy=accuracy, config=config))
    assert advice in finding.try_
