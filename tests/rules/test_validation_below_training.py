from __future__ import annotations

import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.rules.validation_below_training import validation_below_training
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=0.05, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / (time * n)) + noise * RNG.normal(size=n)


def test_notes_a_validation_loss_that_is_lower_all_along():
    (finding,) = validation_below_training.check(a_run(loss=curve(3, 2), val_loss=curve(2, 1, n=12)))
    assert finding.severity == Severity.NOTE


def test_stays_silent_on_an_ordinary_gap_and_on_negative_losses():
    assert validation_below_training.check(a_run(loss=curve(3, 1), val_loss=curve(3, 1.1, n=12))) == []
    assert validation_below_training.check(a_run(loss=curve(-1, -2), val_loss=curve(-2, -3, n=12))) == []


def test_is_not_examined_without_validation():
    assert isinstance(validation_below_training.examine(a_run(loss=curve(2, 1))), NotExamined)
