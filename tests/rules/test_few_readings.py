"""A handful of means of epochs is a curve: each textbook case beside its healthy sibling, from the length on at which
an expert is sure."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.diagnosis.engine import examine as diagnose
from bedside.finding import NotExamined
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.constant_loss import constant_loss
from bedside.rules.loss_spike import loss_spike
from bedside.rules.oscillating_loss import oscillating_loss
from bedside.rules.overfitting import overfitting
from bedside.rules.stalled_loss import stalled_loss
from bedside.rules.stuck_from_start import stuck_from_start
from bedside.testing import a_run


def per_epoch(**curves) -> Run:
    run = a_run(**curves)
    run.axis = "epoch"
    return run


def noise(n, size, seed=0):
    return size * np.random.default_rng(seed).normal(size=n)


def falling(n, first, last, pace=4.0):
    return last + (first - last) * np.exp(-pace * np.linspace(0, 1, n))


def speaks(rule, run) -> bool:
    try:
        return bool([each for each in rule.check(run) if each.severity.word != "note"])
    except NotExamined:
        return False


@pytest.mark.parametrize("n", [6, 8, 15])
def test_a_loss_at_ln_10_is_stuck_from_six_epochs_on(n):
    assert speaks(stuck_from_start, per_epoch(loss=2.303 + noise(n, 0.004)))
    assert not speaks(stuck_from_start, per_epoch(loss=np.linspace(2.303, 2.1, n) + noise(n, 0.004)))


def test_the_last_epochs_of_a_long_run_are_no_start():
    steps = np.arange(3442, 3451)
    run = a_run(loss=Series("loss", "", steps, 0.21 + 0.001 * (steps % 2)), steps=3451)
    run.axis = "epoch"
    assert not speaks(stuck_from_start, run)


def test_a_few_restless_epochs_are_too_early_to_judge():
    assert not speaks(stuck_from_start, per_epoch(loss=2.303 + noise(8, 0.2)))


def test_accuracies_alone_that_never_rose_are_stuck():
    flat = {"train/accuracy": 0.1 + noise(10, 0.003), "val/accuracy": 0.1 + noise(10, 0.004, seed=1)}
    assert speaks(stuck_from_start, per_epoch(**flat))
    assert not speaks(stuck_from_start, per_epoch(**{**flat, "train/accuracy": np.linspace(0.1, 0.2, 10)}))
    assert not speaks(stuck_from_start, per_epoch(**{key: each + 0.8 for key, each in flat.items()}))


def test_a_first_reading_that_is_the_best_by_far_was_thrown_away():
    assert speaks(stuck_from_start, a_run(loss=[6, 12.4, 11.7, 9.2, 8.9, 8.9, 8.8, 8.8, 11.8, 11.8], steps=2000))
    assert not speaks(stuck_from_start, a_run(loss=[6, 12.4, 8.7, 6.2, 8.9, 7.9, 8.8, 6.8, 9.8, 7.8], steps=2000))


def test_a_plateau_of_wrong_answers_shows_after_eight_epochs():
    loss = 4.2 + 0.6 * np.exp(-2 * np.arange(8)) + noise(8, 0.01)
    assert speaks(stalled_loss, per_epoch(loss=loss, val_loss=loss, val_accuracy=[0.04] * 8))
    assert not speaks(stalled_loss, per_epoch(loss=loss, val_loss=loss, val_accuracy=np.linspace(0.04, 0.5, 8)))
    falls = np.linspace(4.8, 4.0, 8)
    assert not speaks(stalled_loss, per_epoch(loss=falls, val_loss=falls, val_accuracy=[0.04] * 8))


def test_epochs_that_go_up_and_down_in_turns_oscillate():
    turns = np.r_[2.5, np.tile([0.8, 1.7], 7)]
    assert speaks(oscillating_loss, per_epoch(loss=turns))
    assert not speaks(oscillating_loss, per_epoch(loss=falling(15, 2.5, 0.8) + noise(15, 0.05)))
    assert not speaks(oscillating_loss, a_run(loss=turns))  # of single batches that is noise


def test_swings_of_no_rhythm_need_the_evaluations_to_swing_too():
    loss = np.array([2.5, 0.8, 0.9, 1.8, 1.6, 0.8, 1.2, 1.9, 0.8, 0.9, 1.7, 1.8, 0.8, 1.0])
    assert speaks(oscillating_loss, per_epoch(loss=loss, val_loss=1.1 * loss))
    assert not speaks(oscillating_loss, per_epoch(loss=loss, val_loss=falling(14, 2.5, 0.9)))


def test_a_value_above_its_own_best_that_repeats_is_no_floor():
    wild = [0.6773, 2.459, 5.335, 1.023, 10.69, 1.99, 3.571, 0.6869]
    assert speaks(constant_loss, a_run(loss=wild + [0.6931] * 12))
    assert not speaks(constant_loss, a_run(loss=[2.3, 1.4, 1.0, 0.8, 0.74, 0.71, 0.695, 0.6935] + [0.6931] * 12))


def test_one_epoch_worse_than_untrained_is_a_spike():
    loss = falling(15, 2.3, 0.3) * np.exp(noise(15, 0.03))
    loss[9] = 6.0
    assert speaks(loss_spike, per_epoch(loss=loss))
    loss[9] = 1.2
    assert not speaks(loss_spike, per_epoch(loss=loss))


def test_training_answers_known_by_heart_beside_wrong_ones():
    train, flat = 1 - falling(10, 0.8, 0.01), np.r_[0.3, 0.5, np.full(8, 0.6)]
    assert speaks(overfitting, per_epoch(**{"train/accuracy": train, "val/accuracy": flat}))
    assert not speaks(overfitting, per_epoch(**{"train/accuracy": train, "val/accuracy": flat + 0.2}))
    assert not speaks(overfitting, per_epoch(**{"train/accuracy": 0.8 * train, "val/accuracy": flat}))


def test_no_healthy_verdict_where_evaluations_contradict_each_other_or_all_answers_are_wrong():
    train = falling(10, 1.2, 0.3)
    jumps = np.array([1.3, 2.9, 0.8, 1.9, 0.6, 1.5, 0.5, 0.9, 0.4, 0.45])
    assert diagnose(per_epoch(loss=train, val_loss=jumps)).verdict != "healthy"
    assert diagnose(per_epoch(loss=train, val_loss=1.2 * train)).verdict == "healthy"
    wrong = {"loss": falling(10, 4.8, 4.2), "val/accuracy": [0.04] * 10}
    assert diagnose(per_epoch(**wrong)).verdict != "healthy"
