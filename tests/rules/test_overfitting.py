from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.overfitting import overfitting
from bedside.testing import a_run

RNG = np.random.default_rng(0)
TRAIN = 0.05 + 2 * np.exp(-np.arange(2000) / 500) + 0.02 * RNG.normal(size=2000)
EVALUATIONS = np.arange(20)
GOOD = 0.5 + 1.8 * np.exp(-EVALUATIONS / 4)
TURNING = GOOD + 0.05 * np.maximum(0, EVALUATIONS - 8)


def test_speaks_when_validation_turns_while_training_falls():
    (finding,) = overfitting.check(a_run(loss=TRAIN, val_loss=TURNING))
    assert finding.first_step == pytest.approx(900, abs=200)
    assert f"step {finding.first_step:,}" in finding.try_[0]


def test_speaks_when_most_of_several_sets_turn():
    run = a_run(loss=TRAIN, val_loss={"g0": TURNING, "g1": TURNING * 2, "g2": GOOD})
    (finding,) = overfitting.check(run)
    assert set(finding.where) == {"g0", "g1"}


def test_speaks_when_the_metric_falls_too():
    accuracy = 0.8 - 0.01 * np.maximum(0, EVALUATIONS - 8)
    assert overfitting.check(a_run(loss=TRAIN, val_loss=TURNING, val_accuracy=accuracy))


def test_speaks_on_three_evaluations_that_only_get_worse():
    (finding,) = overfitting.check(a_run(loss=TRAIN, val_loss=[0.5, 0.58, 0.7]))
    assert finding.evidence["rise"] == pytest.approx(0.4)


def test_speaks_under_a_steady_metric_only_when_much_was_lost():
    steady = np.full(20, 0.8)
    assert overfitting.check(a_run(loss=TRAIN, val_loss=GOOD + 0.02 * EVALUATIONS, val_accuracy=steady)) == []
    assert overfitting.check(a_run(loss=TRAIN, val_loss=TURNING * 2 - 0.5, val_accuracy=steady))


BY_HEART = 2.3 * np.exp(-np.arange(2000) / 200)
A_LITTLE_WORSE = 0.6 + 1.6 * np.exp(-EVALUATIONS / 1.5) + 0.008 * EVALUATIONS


def test_speaks_on_a_small_rise_when_the_training_data_are_known_by_heart():
    steady = 0.8 - 0.6 * np.exp(-EVALUATIONS / 2)
    (finding,) = overfitting.check(a_run(loss=BY_HEART, val_loss=A_LITTLE_WORSE, val_accuracy=steady))
    assert finding.evidence["rise"] < 0.3
    percent = overfitting.check(a_run(loss=BY_HEART, val_loss=A_LITTLE_WORSE, val_accuracy=100 * steady))
    assert len(percent) == 1


@pytest.mark.parametrize("level", [0.97, 0.7], ids=["few mistakes", "training mistakes as many"])
def test_stays_silent_on_a_small_rise_without_a_gap_between_the_answers(level):
    accuracy = level - 0.6 * np.exp(-EVALUATIONS / 2)
    training = BY_HEART if level > 0.9 else BY_HEART + 0.3
    assert overfitting.check(a_run(loss=training, val_loss=A_LITTLE_WORSE, val_accuracy=accuracy)) == []


def test_stays_silent_on_a_small_rise_while_wrong_answers_are_put_right():
    improving = 0.7 + 0.005 * EVALUATIONS
    assert overfitting.check(a_run(loss=BY_HEART, val_loss=A_LITTLE_WORSE, val_accuracy=improving)) == []


def test_speaks_on_noisy_evaluations_none_of_which_came_back():
    noisy = np.r_[1.3, 2.0, 4.4, 3.5, 4.0, 3.8, 3.9, 5.2, 4.3, 5.4, 4.1, 4.8, 3.3, 4.3, 5.6, 4.2, 3.2, 4.4, 4.4, 4.7]
    assert overfitting.check(a_run(loss=BY_HEART, val_loss=noisy))
    assert overfitting.check(a_run(loss=BY_HEART, val_loss=np.r_[noisy[:-4], 1.5, noisy[-3:]])) == []


def test_stays_silent_while_the_metric_improves():
    assert overfitting.check(a_run(loss=TRAIN, val_loss=TURNING, val_accuracy=0.5 + 0.02 * EVALUATIONS)) == []
    assert overfitting.check(a_run(loss=TRAIN, val_loss=TURNING, val_wer=0.5 - 0.02 * EVALUATIONS)) == []


@pytest.mark.parametrize("val", [[0.5, 0.58, 0.56], [0.5, 0.52, 0.55], [0.7, 0.5, 0.8]])
def test_stays_silent_on_three_evaluations_that_say_little(val):
    assert overfitting.check(a_run(loss=TRAIN, val_loss=val)) == []


def test_stays_silent_when_both_fall_and_when_both_rise():
    assert overfitting.check(a_run(loss=TRAIN, val_loss=GOOD)) == []
    assert overfitting.check(a_run(loss=TRAIN[::-1].copy(), val_loss=TURNING)) == []


def test_stays_silent_on_a_few_percent_at_the_end_of_a_fine_tuning():
    val = [0.95, 0.90, 0.87, 0.86, 0.87, 0.88, 0.89]
    assert overfitting.check(a_run(loss=TRAIN, val_loss=val)) == []


@pytest.mark.parametrize("seed", range(20))
def test_stays_silent_on_noisy_evaluations(seed):
    noise = np.random.default_rng(seed).normal(size=20)
    assert overfitting.check(a_run(loss=TRAIN, val_loss=GOOD + 0.1 * noise)) == []


def test_stays_silent_on_a_last_evaluation_that_was_unlucky():
    assert overfitting.check(a_run(loss=TRAIN, val_loss=np.r_[GOOD, 2.0])) == []


def test_stays_silent_when_validation_recovers_after_a_long_while():
    grokking = np.r_[np.linspace(2, 5, 10), np.linspace(5, 0.1, 10)]
    assert overfitting.check(a_run(loss=TRAIN, val_loss=grokking)) == []


def test_is_not_examined_without_validation_or_with_little_of_it():
    assert isinstance(overfitting.examine(a_run(loss=TRAIN)), NotExamined)
    assert isinstance(overfitting.examine(a_run(steps=100, val_loss=TURNING)), NotExamined)
    assert isinstance(overfitting.examine(a_run(loss=TRAIN, val_loss=[1, 2])), NotExamined)


def by_heart(rise, accuracy, train_end=0.005):
    """Evaluations without noise that rise slowly above their best, under an accuracy that stays."""
    train = np.geomspace(2.3, train_end, 200)
    val = np.r_[1.6, 0.8, 0.6, np.linspace(0.6, 0.6 * (1 + rise), 12)]
    run = a_run(loss=train, val_loss=val, val_accuracy=np.r_[0.5, 0.7, np.full(13, accuracy)])
    return overfitting.check(run)


def test_speaks_sooner_when_the_training_data_are_known_by_heart_and_others_are_not():
    assert by_heart(0.08, accuracy=0.8)


def test_a_slight_rise_is_nothing_where_held_out_answers_are_as_good():
    assert not by_heart(0.08, accuracy=0.97)
    assert not by_heart(0.03, accuracy=0.8)


def learned_out(rise, accuracy, train_end=0.01, n=20, **more):
    """A validation loss that turns after five evaluations, over a training loss that has nothing left to teach."""
    val = np.r_[np.linspace(1.5, 0.8, 5), 0.8 * (1 + rise * np.linspace(0, 1, n - 5))]
    run = a_run(loss=np.geomspace(1.6, train_end, 200), val_loss=val, val_accuracy=accuracy, **more)
    return overfitting.check(run)


CREPT = np.r_[np.linspace(0.5, 0.74, 5), 0.74 + 0.02 * (1 - np.exp(-np.arange(15) / 2))]


def test_speaks_when_the_accuracy_only_crept_up_at_first():
    assert learned_out(0.5, CREPT)


def test_stays_silent_while_training_has_more_to_teach_or_the_accuracy_still_improves():
    assert not learned_out(0.4, CREPT, train_end=0.6)
    assert not learned_out(0.4, np.linspace(0.6, 0.9, 20))


def test_a_class_of_a_few_examples_has_no_veto():
    rng = np.random.default_rng(0)
    classes = {f"val_iou_class{k}": rng.binomial(6, np.linspace(0.2, 0.7, 20)) / 6 for k in range(12)}
    assert learned_out(0.5, np.r_[np.linspace(0.5, 0.74, 5), np.linspace(0.74, 0.7, 15)], **classes)


def test_an_error_rate_that_rises_agrees():
    val = np.r_[np.linspace(1.2, 0.42, 6), np.linspace(0.42, 0.52, 10)]
    rates = np.r_[np.linspace(0.6, 0.285, 6), np.linspace(0.285, 0.31, 10)]
    assert overfitting.check(a_run(loss=np.geomspace(2, 0.01, 200), val_loss=val, val_wer=rates))


def test_names_the_reading_of_the_step_it_names():
    (finding,) = learned_out(0.5, CREPT)
    assert finding.evidence["best"] == pytest.approx(0.8)


def test_speaks_when_a_good_part_of_what_validation_had_won_is_lost_again():
    train = np.linspace(3.4, 1.6, 360)
    val = np.r_[np.linspace(3.39, 2.75, 12), np.linspace(2.76, 3.02, 18)]
    assert overfitting.check(a_run(loss=train, val_loss=val))


def test_stays_silent_when_the_same_rise_is_a_small_part_of_what_was_won():
    train = np.linspace(9.4, 1.6, 360)
    val = np.r_[np.linspace(9.39, 2.75, 12), np.linspace(2.76, 3.02, 18)]
    assert not overfitting.check(a_run(loss=train, val_loss=val))


@pytest.mark.parametrize(("after", "speaks"), [(-0.01, False), (0.0, True)])
def test_a_leap_after_which_it_goes_on_falling_is_another_task(after, speaks):
    leapt = 1.6 + 2 * after * np.arange(9)
    run = a_run(loss=np.geomspace(1.0, 0.2, 200), val_loss=[*np.geomspace(2.0, 1.0, 10), *leapt])
    assert bool(overfitting.check(run)) is speaks


@pytest.mark.parametrize(("worse", "speaks"), [(3, False), (9, True)])
def test_of_restless_evaluations_the_last_three_are_not_enough(worse, speaks):
    wild = 1.0 + 0.15 * np.tile([1.0, -0.6, 0.2, -1.0, 0.7], 6)
    wild[-worse:] += 0.9
    run = a_run(loss=np.geomspace(1.0, 0.1, 300), val_loss=[2.5, 1.8, *wild])
    assert bool(overfitting.check(run)) is speaks


@pytest.mark.parametrize(("high", "speaks"), [(0.096, False), (0.13, True)])
def test_a_large_share_of_a_loss_near_zero_is_next_to_nothing(high, speaks):
    val = [*np.geomspace(1.4, 0.08, 20), *np.geomspace(0.08, high, 40)]
    assert bool(overfitting.check(a_run(loss=np.geomspace(1.4, 0.004, 300), val_loss=val))) is speaks


@pytest.mark.parametrize(("rise", "speaks"), [(0.0, False), (0.05, True)])
def test_restless_evaluations_that_rise_among_themselves_since_the_best(rise, speaks):
    wild = 0.25 * np.array([0.3, -0.2, 0.9, 0.1, -0.8, 0.5, 1.2, -0.4, 0.2, 1.0, -0.9, 0.6, -0.1, 0.8, -0.6, 0.7])
    after = 1.25 + rise * np.arange(16) + wild
    val = [1.45, 1.4, 1.4, 0.95, *after]
    run = a_run(loss=np.geomspace(1.7, 0.2, 200), val_loss=val)
    assert bool(overfitting.check(run)) is speaks


@pytest.mark.parametrize(("val", "speaks"), [([1.0, 1.03, 1.05, 1.06, 1.11, 1.19], True), ([1.0, 1.1, 1.19], False)])
def test_a_few_evaluations_that_rise_in_a_row_need_no_large_rise(val, speaks):
    assert bool(overfitting.check(a_run(loss=np.linspace(0.07, 0.02, 96), val_loss=val))) is speaks
