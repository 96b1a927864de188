from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.frozen_validation import frozen_validation
from bedside.testing import a_run

TRAIN = np.linspace(3, 1, 600)


def test_speaks_when_evaluations_agree_to_the_last_digit():
    run = a_run(loss=TRAIN, val_loss=[2.718281, 1.618033, 1.414213, 1.414213, 1.414213])
    (finding,) = frozen_validation.check(run)
    assert (finding.first_step, finding.last_step) == (359, 599)
    assert finding.evidence["evaluations"] == 3


def test_speaks_on_metrics_alone():
    (finding,) = frozen_validation.check(a_run(steps=5000, val_fid=[646.0821975] * 5, val_clip_score=[0.16062827] * 5))
    assert "val/fid is exactly 646" in finding.message


def test_speaks_when_an_accuracy_alone_repeats_many_times():
    assert frozen_validation.check(a_run(loss=TRAIN, val_accuracy=[0.0980392156] * 8))


@pytest.mark.parametrize(
    "vitals",
    [
        {"val_loss": [0.693, 0.692, 0.691, 0.691, 0.691]},
        {"val_loss": [2.718281, 1.618033, 1.514213, 1.414219], "val_accuracy": [0.846153846] * 4},
        {"val_accuracy": [0.7, 0.846153846, 0.846153846, 0.846153846]},
        {"val_best_loss": [2.718281, 1.414213, 1.414213, 1.414213]},
        {"val_f1": [0.0] * 10},
        {"val_loss": [2.718281, 1.414213, 1.414213, 1.414213], "lr": [1e-3] * 200 + [0.0] * 400},
    ],
    ids=["rounded", "loss moves", "few samples", "running best", "zero score", "schedule over"],
)
def test_stays_silent_where_equality_says_nothing(vitals):
    assert frozen_validation.check(a_run(loss=TRAIN, **vitals)) == []


def test_is_not_examined_without_evaluations():
    assert isinstance(frozen_validation.examine(a_run(loss=TRAIN)), NotExamined)


def test_stays_silent_on_one_digit_however_often_it_repeats():
    assert frozen_validation.check(a_run(loss=TRAIN, val_loss=[0.1, 0.004, *[0.0005] * 14])) == []


def test_needs_twice_as_many_of_two_digits():
    assert frozen_validation.check(a_run(loss=TRAIN, val_loss=[0.9, 0.8, *[0.75] * 8])) == []
    assert frozen_validation.check(a_run(loss=TRAIN, val_loss=[0.9, 0.8, *[0.75] * 14]))


def test_stays_silent_when_the_schedule_ended_with_the_first_of_them():
    rate = np.r_[np.linspace(0.1, 0.001, 360), np.zeros(240)]
    assert frozen_validation.check(a_run(loss=TRAIN, lr=rate, val_loss=[2.71828, 1.61803, *[1.41421] * 3])) == []


def test_a_run_that_has_converged_is_finished_and_not_frozen():
    val = np.r_[np.geomspace(20, 4e-13, 10), np.full(20, 4.2711e-13)]
    solved = {"loss": np.geomspace(20, 4e-13, 300), "grad_norm": np.geomspace(9, 1e-6, 300)}
    assert not frozen_validation.check(a_run(val_loss=val, lr=0.1, **solved))
    stuck = np.r_[np.geomspace(20, 1.2711, 10), np.full(20, 1.2711)]
    assert frozen_validation.check(a_run(loss=np.geomspace(20, 0.5, 300), val_loss=stuck, lr=0.1))


def test_the_same_few_hard_examples_may_be_wrong_again_and_again():
    assert frozen_validation.check(a_run(loss=TRAIN, val_accuracy=[0.9, 0.98, *[0.9925] * 8])) == []
    assert frozen_validation.check(a_run(loss=TRAIN, val_accuracy=[0.5, 0.68, *[0.6925] * 8]))
    stale = a_run(loss=TRAIN, val_accuracy=[0.9, *[0.9925] * 8], val_loss=[0.3, *[0.0231417] * 8])
    assert frozen_validation.check(stale)


@pytest.mark.parametrize(("before", "speaks"), [(9.9137, True), (9.2146, False)])
def test_an_agent_that_does_as_well_as_it_ever_did_acts_as_it_did(before, speaks):
    run = a_run(loss=TRAIN, val_return=[-3.1415, 2.7182, before, *[9.8765] * 8])
    assert bool(frozen_validation.check(run)) is speaks
