from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.nothing_generalises import nothing_generalises
from bedside.testing import a_run

RNG = np.random.default_rng(0)
BY_HEART = 0.1 + 2.2 * np.exp(-np.arange(200) / 60)
WORSE = np.log(10) * np.linspace(1.01, 1.6, 20)
GUESSES = 0.1 + 0.005 * RNG.normal(size=20)
KNOWN = {"classes": 10}


def test_speaks_when_only_single_examples_are_learned_by_heart():
    (finding,) = nothing_generalises.check(a_run(loss=BY_HEART, val_loss=WORSE, val_accuracy=GUESSES))
    assert "never below that of a blind guess (ln 10 = 2.303)" in finding.message
    assert "shuffled" in finding.try_[0]


def test_speaks_of_a_training_loss_that_creeps_below_a_guess():
    creeping = np.linspace(2.31, 2.15, 300)
    assert nothing_generalises.check(a_run(loss=creeping, val_loss=WORSE, val_accuracy=GUESSES, config=KNOWN))


def test_needs_no_accuracy_where_the_classes_are_known():
    assert nothing_generalises.check(a_run(loss=BY_HEART, val_loss=WORSE, config=KNOWN))
    assert nothing_generalises.check(a_run(loss=BY_HEART, val_loss=WORSE)) == []


@pytest.mark.parametrize(
    ("loss", "val", "accuracy"),
    [
        (BY_HEART, np.r_[np.linspace(2.3, 1.2, 6), np.linspace(1.2, 2.9, 14)], np.linspace(0.1, 0.6, 20)),
        (BY_HEART, WORSE, np.linspace(0.3, 0.6, 20)),
        (2.303 + 0.01 * RNG.normal(size=200), [2.303] * 20, GUESSES),
        (BY_HEART, BY_HEART[::10], np.linspace(0.1, 0.9, 20)),
    ],
    ids=["overfitting after a best", "answers are right", "training is at chance too", "it generalises"],
)
def test_stays_silent(loss, val, accuracy):
    assert nothing_generalises.check(a_run(loss=loss, val_loss=val, val_accuracy=accuracy, config=KNOWN)) == []


def test_is_not_examined_with_few_evaluations():
    assert isinstance(nothing_generalises.examine(a_run(loss=BY_HEART, val_loss=[2.3] * 3)), NotExamined)


def test_a_coin_that_is_tossed_for_validation_needs_no_validation_loss():
    loss, coin = 0.02 + 0.67 * np.exp(-np.arange(200) / 30), 0.49 + 0.005 * RNG.normal(size=20)
    (finding,) = nothing_generalises.check(a_run(loss=loss, val_accuracy=coin))
    assert "where a blind guess has 0.5" in finding.message
    assert nothing_generalises.check(a_run(loss=loss, val_accuracy=np.linspace(0.5, 0.8, 20))) == []
    assert nothing_generalises.check(a_run(loss=0.69 - 0.0005 * np.arange(200), val_accuracy=coin)) == []


def test_speaks_of_numbers_that_are_only_learned_by_heart():
    spread = {"target_variance": 2.0}
    train, val = np.linspace(2.0, 1.3, 100), np.linspace(1.85, 2.3, 12)
    [found] = nothing_generalises.check(a_run(loss=train, val_loss=val, config=spread))
    assert "the variance of the targets is 2, while the training loss fell to 1.3" in found.message
    assert not nothing_generalises.check(a_run(loss=np.linspace(2.0, 1.45, 100), val_loss=val, config=spread))
    assert not nothing_generalises.check(a_run(loss=train, val_loss=val - 0.1, config=spread))


def test_a_score_of_a_blind_guess_bears_it_out():
    scored = {
        "loss": np.linspace(2.0, 1.55, 100),
        "val_loss": np.linspace(1.6, 1.9, 12),
        "config": {"target_variance": 2},
    }
    assert nothing_generalises.check(a_run(**scored, val_r2=[-0.02, 0.01, -0.1] * 4))
    assert not nothing_generalises.check(a_run(**scored, val_r2=[0.1, 0.2, 0.2] * 4))
    assert not nothing_generalises.check(a_run(**scored))
