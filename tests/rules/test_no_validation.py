from __future__ import annotations

import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.no_validation import no_validation
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=0.05, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / (time * n)) + noise * RNG.normal(size=n)


def test_notes_that_nothing_was_held_out():
    (finding,) = no_validation.check(a_run(loss=curve(3, 2)))
    assert finding.severity == Severity.NOTE
    assert "every 10 steps" in finding.try_[0]


def test_stays_silent_when_something_was_evaluated():
    assert no_validation.check(a_run(loss=curve(3, 1), val_bleu=[1.0, 2.0])) == []


def test_does_not_judge_trials_and_surrogates():
    assert isinstance(no_validation.examine(a_run(loss=[3, 2, 1])), NotExamined)
    assert isinstance(no_validation.examine(a_run(loss=curve(1, 0), reward=1.0)), NotExamined)


def test_asks_for_the_loss_of_an_evaluation_that_was_seen():
    seen = [Event(40, "validation_in_train_mode", {})]
    [found] = no_validation.check(a_run(loss=np.linspace(2, 1, 200), events=seen))
    assert "was not logged" in found.message
    assert found.try_[0].startswith("Log its loss: monitor.log(val_loss=…)")
