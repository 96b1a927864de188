from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.rules.still_falling import still_falling
from bedside.testing import a_run

RNG = np.random.default_rng(0)


FALLING = np.linspace(3, 1, 400) + 0.05 * RNG.normal(size=400)


def test_notes_a_run_that_ended_too_early():
    (finding,) = still_falling.check(a_run(loss=FALLING, finished=True))
    assert finding.severity == Severity.NOTE
    assert finding.try_ == ("Train for half as long again.",)
    (finding,) = still_falling.check(a_run(loss=FALLING, lr=list(np.linspace(0.1, 0.01, len(FALLING))), finished=True))
    assert "with the schedule stretched to 600 steps" in finding.try_[0]


@pytest.mark.parametrize("seed", range(10))
def test_stays_silent_when_it_has_settled(seed):
    loss = 1 + 2 * np.exp(-np.arange(400) / 40) + 0.05 * np.random.default_rng(seed).normal(size=400)
    assert still_falling.check(a_run(loss=loss, finished=True)) == []


def test_does_not_judge_a_run_that_is_going_on():
    assert isinstance(still_falling.examine(a_run(loss=FALLING)), NotExamined)


def test_stays_silent_when_it_only_comes_back_to_where_it_has_been():
    loss = np.r_[2.3 * np.exp(-np.arange(200) / 60), np.linspace(10.0, 4.0, 150)]
    assert not still_falling.check(a_run(loss=loss))


SIMPLE = {"linear": 0.1, "neighbours": 0.2, "guess": 0.9, "examples": 400, "kept": 400, "asked": 64, "classes": 10}


def ended(accuracy=0.7, held_out=FALLING[::20], steps=400, **facts):
    curves = {"loss": FALLING[-steps:], "val_loss": held_out, "val_accuracy": [accuracy] * 8}
    run = a_run(**curves, epoch=np.arange(steps), config={"simple_models": SIMPLE | facts}, finished=True)
    return still_falling.check(run)[0]


def test_is_a_warning_when_it_ended_in_the_midst_of_learning_behind_a_simple_model():
    finding = ended()
    assert finding.severity == Severity.WARNING
    assert finding.message.endswith(
        "; a linear model, fitted to a few hundred of its examples, is 10 % wrong, and the network 30 % wrong."
    )
    assert ended(accuracy=0.86).severity == Severity.NOTE
    assert ended(held_out=np.geomspace(3, 1, 20) ** 4).severity == Severity.NOTE  # held-out data have had enough


def test_is_a_warning_when_every_epoch_is_one_step():
    finding = ended(accuracy=0.9, asked=2000)
    assert finding.severity == Severity.WARNING
    assert finding.message.endswith(", and every epoch is one step, of 2,000 examples: 400 steps in all.")
    assert ended(accuracy=0.9, asked=900).severity == Severity.NOTE
