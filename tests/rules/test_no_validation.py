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


def evaluated(**facts):
    seen = {"passes": 4, "forwards_per_pass": 7, "steps_between": 50, "in_eval_mode": True, "confirmed": 0}
    return [Event(150, "evaluations", seen | facts)]


def test_asks_for_the_loss_of_an_evaluation_that_was_seen():
    (finding,) = no_validation.check(a_run(loss=curve(3, 2), events=evaluated()))
    assert "No validation loss was logged in 200 steps, though the model was evaluated" in finding.message
    assert list(finding.try_) == [
        "Log the loss of the evaluation that is run every 50 steps: monitor.log(val_loss=...)."
    ]


def test_forwards_between_all_steps_are_no_evaluation():
    (finding,) = no_validation.check(a_run(loss=curve(3, 2), events=evaluated(steps_between=1)))
    assert "No validation in 200 steps" in finding.message
