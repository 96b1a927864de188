"""What counts as having learned: each limit of it, just above and just below."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.diagnosis.learned import Curve, Learned, Limits
from bedside.record.series import Series
from bedside.testing import a_run

WIGGLE = np.random.default_rng(0).standard_normal(400)


def curve(values, **limits):
    values = np.asarray(values, float)
    return Curve(Series("loss", "", np.arange(len(values)), values), Limits(**limits), turned=False)


def falling(readings, vital="loss"):
    values = np.geomspace(2.0, 0.5, readings)
    return a_run(loss=values) if vital == "loss" else a_run(steps=400, **{vital: values})


@pytest.mark.parametrize(("readings", "enough"), [(19, False), (21, True)])
def test_a_training_loss_of_twenty_readings_is_a_curve(readings, enough):
    assert (Learned(falling(readings)).training is not None) is enough


@pytest.mark.parametrize(("evaluations", "enough"), [(4, False), (6, True)])
def test_five_evaluations_are_a_curve(evaluations, enough):
    assert bool(Learned(falling(evaluations, "val_loss")).held_out) is enough
    assert bool(Learned(a_run(steps=400, val_accuracy=np.linspace(0.1, 0.9, evaluations))).metrics) is enough


@pytest.mark.parametrize(("won", "improved"), [(0.005, False), (0.02, True)])
def test_an_improvement_is_more_than_a_hundredth_of_the_level(won, improved):
    assert curve(np.linspace(1.0, 1.0 - won, 400)).improved is improved
    assert curve(np.r_[np.linspace(1.0, 1.0 - won, 200), np.full(200, 1.0 - won / 2)]).was_better is improved


def test_an_improvement_is_more_than_the_noise_or_goes_on():
    """Up and down by as much as is won, at the end a little lower."""
    noise = 0.1 * WIGGLE[:60]
    swings = np.r_[2.0 + noise[:20], 2.6 + noise[20:40], 1.75 + noise[40:]]
    assert not curve(swings).improved
    assert curve(np.r_[2.0 + noise[:20], 2.6 + noise[20:40], 0.3 + noise[40:]], noise=0.5).improved
    assert curve(np.linspace(2.0, 1.7, 60) + noise).improved  # a steady fall beneath the noise of one reading


def ends_at(level, first=2.0, best=1.0):
    return curve(np.r_[np.linspace(first, best, 100), np.linspace(best, level, 100), np.full(40, level)])


@pytest.mark.parametrize(("level", "lost"), [(1.2, False), (1.45, True)])
def test_a_third_of_the_progress_given_back_is_a_loss(level, lost):
    assert ends_at(level).lost is lost


@pytest.mark.parametrize(("level", "lost"), [(1.06, False), (1.2, True)])
def test_an_end_within_a_tenth_of_the_level_is_none(level, lost):
    """Half of the little that was won, or all of it and more."""
    assert ends_at(level, first=1.12).lost is lost


@pytest.mark.parametrize(("level", "lost"), [(0.03, False), (0.3, True)])
def test_a_multiple_of_the_best_is_lost_if_it_is_a_third_of_the_way_back_in_logarithms(level, lost):
    fell = np.r_[np.geomspace(10.0, 0.01, 100), np.full(60, 0.01), np.geomspace(0.01, level, 100), np.full(40, level)]
    assert curve(fell).lost is lost


def test_twice_the_best_is_the_least_that_counts_as_a_multiple():
    assert ends_at(
        0.19,
        first=0.2,
        best=0.1,
    ).lost
    assert not ends_at(100.9, first=102.0, best=100.0).lost


def test_noise_that_wanders_is_not_lost_progress():
    up = np.r_[np.linspace(2.0, 1.0, 100), np.linspace(1.0, 1.45, 140)]
    assert curve(up + 0.02 * WIGGLE[:240]).lost
    assert not curve(up + 0.3 * WIGGLE[:240]).lost


@pytest.mark.parametrize(("best", "improved"), [(0.925, False), (0.94, True)])
def test_a_score_improved_if_it_won_a_tenth_of_what_was_left(best, improved):
    score = np.r_[0.92, 0.92, np.linspace(0.92, best, 8), np.full(10, best)]
    run = a_run(steps=400, val_accuracy=score)
    assert Learned(run).metric_improved is improved


def guessed(accuracy, loss, **config):
    run = a_run(loss=np.full(400, loss), val_accuracy=accuracy, config=config)
    return [guess for _, guess in Learned(run).guessed_accuracies()]


def test_an_accuracy_of_one_in_ten_is_a_guess_where_the_loss_says_so_too():
    chance = np.full(8, 0.1)
    assert guessed(chance, math.log(10)) == [pytest.approx(0.1)]
    assert guessed(chance, 1.05 * math.log(10)) == [pytest.approx(0.1)]
    assert guessed(chance, 1.2 * math.log(10)) == []


def test_a_guess_is_one_of_so_many_classes_or_the_commonest_label_whichever_is_more():
    run = a_run(loss=1.0, val_accuracy=np.full(8, 0.6), label_share_max=0.58, config={"classes": 10})
    assert [guess for _, guess in Learned(run).guessed_accuracies()] == [pytest.approx(0.58)]
    assert guessed(np.full(8, 0.15), 1.0, classes=10) == [pytest.approx(0.1)]
    assert guessed(np.full(8, 0.25), 1.0, classes=10) == []


def test_without_a_number_of_classes_a_guess_is_the_commonest_label():
    run = a_run(loss=1.0, val_accuracy=np.full(8, 0.6), label_share_max=0.58)
    assert [guess for _, guess in Learned(run).guessed_accuracies()] == [pytest.approx(0.58)]


def test_a_guess_that_the_settings_state_is_not_inferred_again():
    run = a_run(loss=np.geomspace(math.log(10), 0.3, 400), val_accuracy=np.full(8, 0.1), config={"classes": 10})
    assert Learned(run).chance is not None
    assert Learned(run).apparent_chance is None


def test_the_first_third_of_an_accuracy_tells_the_guess_that_nobody_stated():
    rising = np.r_[np.full(4, 0.1), np.linspace(0.2, 0.9, 8)]
    run = a_run(loss=np.geomspace(math.log(10), 0.3, 400), val_accuracy=rising)
    chance = Learned(run).apparent_chance
    assert chance is not None
    assert chance.classes == 10
    late = np.r_[np.full(2, 0.1), np.linspace(0.5, 0.9, 10)]
    assert Learned(a_run(loss=np.geomspace(math.log(10), 0.3, 400), val_accuracy=late)).apparent_chance is None


def test_every_curve_is_there_the_training_loss_first():
    run = a_run(loss=np.geomspace(2.0, 0.5, 40), val_loss=np.geomspace(2.0, 0.5, 8), val_accuracy=np.linspace(0, 1, 8))
    assert [each.series.vital for each in Learned(run).every] == ["loss", "val/loss", "val/accuracy"]


@pytest.mark.parametrize(("first", "now", "level"), [(-4.0, 1.0, 4.0), (1.0, -4.0, 4.0)])
def test_the_level_of_a_curve_is_the_larger_of_its_ends(first, now, level):
    assert curve(np.r_[np.full(20, first), np.full(20, now)]).level == pytest.approx(level)


def test_a_score_is_shown_as_the_user_knows_it():
    [score] = Learned(a_run(steps=400, val_accuracy=np.linspace(0.1, 0.9, 20))).metrics
    assert score.turned
    assert score.shown(score.best) == pytest.approx(0.9, abs=0.05)
    assert score.improved
