from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.rules.diverging_loss import diverging_loss
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def falling(n=1000, start=3.0, end=0.5, noise=0.05):
    return end + (start - end) * np.exp(-np.arange(n) / (n / 8)) + noise * RNG.normal(size=n)


def test_speaks_when_the_loss_climbs_and_dates_the_onset():
    loss = falling()
    loss[700:] += np.linspace(0, 4, 300)
    (finding,) = diverging_loss.check(a_run(loss=loss, lr=0.01))
    assert finding.severity == Severity.ERROR
    assert finding.first_step == pytest.approx(700, abs=40)
    assert "from 0.01 to about 0.001" in finding.try_[0]


def test_speaks_when_the_loss_jumps_back_to_chance_and_stays():
    loss = falling()
    loss[800:] = 2.9 + 0.05 * RNG.normal(size=200)
    (finding,) = diverging_loss.check(a_run(loss=loss))
    assert finding.first_step == pytest.approx(800, abs=2)


def test_speaks_when_the_loss_only_ever_climbs():
    (finding,) = diverging_loss.check(a_run(loss=2.3 * np.exp(np.linspace(0, 8, 60))))
    assert finding.evidence["best_step"] <= 2


def test_speaks_when_a_huge_first_reading_dwarfs_the_rise():
    val = [32, 1.2, 0.9, 0.8, 0.7, 0.7, 0.8, 1.2, 3, 4, 5, 6, 6, 7, 9, 10]
    (finding,) = diverging_loss.check(a_run(steps=16000, val_loss=val))
    assert finding.series[0] == "val/loss"


def test_speaks_when_a_negative_loss_loses_its_progress():
    assert diverging_loss.check(a_run(loss=np.r_[falling() - 3, falling()[::-1] - 3]))


@pytest.mark.parametrize("seed", range(5))
def test_stays_silent_on_a_noisy_fall(seed):
    loss = falling(noise=0.3)
    assert diverging_loss.check(a_run(loss=loss + 0 * seed)) == []


def test_stays_silent_on_a_flat_noisy_curve():
    assert diverging_loss.check(a_run(loss=1 + 0.3 * RNG.normal(size=2000))) == []


def test_stays_silent_on_a_spike_that_comes_back():
    loss = falling()
    loss[500:520] = 20
    assert diverging_loss.check(a_run(loss=loss)) == []


def test_stays_silent_on_a_warm_restart_at_the_end():
    lr = np.where(np.arange(1000) < 950, np.linspace(0.1, 0.001, 1000), 0.1)
    loss = falling(start=3, end=0.1, noise=0.01)
    loss[950:] += 0.6
    assert diverging_loss.check(a_run(loss=loss, lr=lr)) == []


def test_stays_silent_on_epoch_staircases_that_rise_a_little_within_a_step():
    stairs = np.repeat([1.1, 0.75, 0.45], 400) + np.tile(np.linspace(0, 0.05, 400), 3) + 0.04 * RNG.normal(size=1200)
    stairs[0] = 1.6
    assert diverging_loss.check(a_run(loss=stairs)) == []


def test_does_not_judge_a_policy_surrogate():
    answer = diverging_loss.examine(a_run(loss=np.linspace(0, 0.05, 200), kl=0.1, reward_std=1.0))
    assert isinstance(answer, NotExamined)


def test_is_not_examined_when_too_short():
    assert isinstance(diverging_loss.examine(a_run(loss=[1, 2, 3])), NotExamined)
    assert isinstance(diverging_loss.examine(a_run(lr=0.1)), NotExamined)


def test_a_few_percent_of_a_loss_that_hardly_fell_are_no_divergence():
    noise = 0.02 * np.random.default_rng(3).standard_normal(330)
    slow = np.linspace(2.31, 2.2, 330) + noise
    slow[313:] += 0.09
    assert not diverging_loss.check(a_run(loss=slow))
    slow[313:] += 0.3
    assert diverging_loss.check(a_run(loss=slow))


def test_stays_silent_inside_a_swing_like_those_it_came_back_from():
    # sorted by class: the loss falls within each class and leaps at the next
    epochs = np.tile(np.r_[np.linspace(2.2, 0.9, 40), np.linspace(2.2, 1.1, 8)], 9)
    saw = 0.9 * np.exp(-np.arange(len(epochs)) / 300) + epochs + 0.02 * RNG.normal(size=len(epochs))
    for end in (len(saw) - 6, len(saw) - 4):
        assert diverging_loss.check(a_run(loss=saw[:end])) == []
    assert diverging_loss.check(a_run(loss=np.r_[saw[:-8], saw[-8] + 0.1 * np.arange(60)]))


def exploding(times, reward):
    loss = list(np.geomspace(1.0, times, 8).repeat(20))
    run = a_run(loss=loss, **{"train/mean_reward": reward})
    return [each for each in diverging_loss.check(run) if "run away" in each.message]


@pytest.mark.parametrize(("times", "speaks"), [(100, True), (20, False)])
def test_speaks_of_values_that_run_away_while_the_reward_gets_no_better(times, speaks):
    assert bool(exploding(times, [20.0, 18.0, 12.0, 9.0, 8.0, 9.0, 8.0, 8.0, 8.0])) is speaks


def test_stays_silent_about_errors_that_grow_with_the_reward():
    assert not exploding(1000, [20.0, 18.0, 22.0, 30.0, 48.0, 70.0, 80.0, 90.0, 90.0])


@pytest.mark.parametrize(("held_out", "speaks"), [(0.95, False), (1.02, True)])
def test_a_harder_stage_during_which_held_out_data_get_better_is_no_divergence(held_out, speaks):
    time = np.arange(40)
    stage = np.digitize(time, [12, 25])
    loss = 0.3 + 0.35 * stage + 1.3 * np.exp(-(time - np.array([0, 12, 25])[stage]) / 3.5)
    run = a_run(loss=loss, val_loss=2.5 * held_out**time, steps=40)
    assert bool(diverging_loss.check(run)) is speaks


def test_speaks_when_each_of_four_evaluations_is_worse_than_the_one_before():
    [found] = diverging_loss.check(a_run(val_loss=[0.01, 0.026, 0.056, 0.108]))
    assert "from the first evaluation on" in found.message


def test_stays_silent_when_few_evaluations_rise_by_little():
    assert isinstance(diverging_loss.examine(a_run(val_loss=[0.4, 0.5, 0.6, 0.7])), NotExamined)
    assert isinstance(diverging_loss.examine(a_run(val_loss=[0.1, 0.5, 0.4, 0.7])), NotExamined)
