from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.oscillating_loss import oscillating_loss
from bedside.testing import a_run


def falling(n=1000, noise=0.05, seed=0):
    return 0.5 + 2.5 * np.exp(-np.arange(n) / 100) + noise * np.random.default_rng(seed).normal(size=n)


def test_speaks_when_half_of_the_progress_is_lost_again_and_again():
    loss = falling()
    loss[300:] += 1.0 * (1 + np.sin(np.arange(700) / 20))
    (finding,) = oscillating_loss.check(a_run(loss=loss, lr=0.5))
    assert finding.first_step > 290
    assert finding.evidence["swings"] >= 5
    assert "from 0.5 to about 0.1" in finding.try_[0]


def test_speaks_when_the_loss_bounces_from_step_to_step():
    loss = falling(noise=0.02)
    loss[100:] += 1.2 * (np.arange(900) % 2)
    (finding,) = oscillating_loss.check(a_run(loss=loss))
    assert "bounces" in finding.message


EVALUATIONS = np.arange(24)
HELD_OUT = 0.6 + 2 * np.exp(-EVALUATIONS)


def swaying(height, seed=0):
    loss = falling(seed=seed)
    loss[200:] += height * (1 + np.sin(np.arange(800) / 25)) / 2
    return loss


def test_speaks_on_smaller_swings_that_the_validation_loss_shows_as_well():
    sway = HELD_OUT + 0.6 * (EVALUATIONS % 6 == 5)
    (finding,) = oscillating_loss.check(a_run(loss=swaying(0.8), val_loss=sway))
    assert "validation loss" in finding.message
    assert 200 < finding.first_step < 500


def test_stays_silent_on_smaller_swings_of_one_of_the_two():
    sway = HELD_OUT + 0.6 * (EVALUATIONS % 6 == 5)
    assert oscillating_loss.check(a_run(loss=swaying(0.8), val_loss=HELD_OUT)) == []
    assert oscillating_loss.check(a_run(loss=falling(), val_loss=sway)) == []


def test_stays_silent_on_smaller_swings_on_the_way_down():
    falls = 0.3 + 2 * np.exp(-EVALUATIONS / 8) + 0.6 * (EVALUATIONS % 6 == 5)
    assert oscillating_loss.check(a_run(loss=swaying(0.8), val_loss=falls)) == []


@pytest.mark.parametrize("noise", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(10))
def test_stays_silent_on_batch_noise(noise, seed):
    assert oscillating_loss.check(a_run(loss=falling(noise=noise, seed=seed))) == []


@pytest.mark.parametrize("seed", range(20))
def test_stays_silent_on_a_flat_curve_that_wanders(seed):
    rng = np.random.default_rng(seed)
    wander = rng.normal(size=1000)
    for i in range(1, 1000):
        wander[i] += 0.95 * wander[i - 1]
    assert oscillating_loss.check(a_run(loss=10 + wander)) == []


def test_stays_silent_on_one_spike_and_on_cyclical_learning_rates():
    spike, cycles = falling(), falling()
    spike[500:540] += 2
    cycles[300:] += 1 + np.sin(np.arange(700) / 20)
    assert oscillating_loss.check(a_run(loss=spike)) == []
    lr = 0.1 * (1.1 + np.sin(np.arange(1000) / 20))
    assert oscillating_loss.check(a_run(loss=cycles, lr=lr)) == []


def test_is_not_examined_when_too_short():
    assert isinstance(oscillating_loss.examine(a_run(loss=[1, 2, 1, 2])), NotExamined)


@pytest.mark.parametrize("period", [5, 7, 9, 18, 40])
def test_speaks_of_swings_at_any_period(period):
    loss = falling(n=600, noise=0.03)
    loss[300:] += 0.6 * (1 - np.cos(2 * np.pi * np.arange(300) / period))
    (finding,) = oscillating_loss.check(a_run(loss=loss, lr=0.5))
    assert finding.first_step >= 200
    assert finding.try_[0].startswith("Lower the learning rate")


def test_speaks_of_swings_that_drift_out_of_phase():
    rng, swing = np.random.default_rng(0), np.zeros(600)
    for k in range(2, 600):
        swing[k] = 2 * 0.985 * np.cos(2 * np.pi / 9) * swing[k - 1] - 0.985**2 * swing[k - 2] + rng.normal()
    assert oscillating_loss.check(a_run(loss=falling(n=600) + 0.5 * np.abs(swing / swing.std() + 1.5)))


def test_stays_silent_on_sources_that_take_turns_with_little_between_them():
    loss = falling(n=600, noise=0.02) * (1 + 0.06 * np.sin(2 * np.pi * np.arange(600) / 10))
    assert oscillating_loss.check(a_run(loss=loss)) == []


def test_stays_silent_on_tasks_that_take_turns_and_all_learn():
    level = 3 * (1 + np.arange(600) / 60) ** -0.8
    assert oscillating_loss.check(a_run(loss=level * np.resize([1.0, 1.2, 2.0, 2.2, 1.4, 1.1], 600))) == []


@pytest.mark.parametrize(("swing", "speaks"), [(0.4, True), (0.15, False)])
def test_swings_that_double_the_loss_count_though_they_are_a_small_part_of_the_progress(swing, speaks):
    time = np.arange(1500)
    loss = 0.8 + 3 * np.exp(-time / 150) + np.where(time > 700, swing * np.sin(2 * np.pi * time / 7), 0.0)
    noise = 0.01 * np.random.default_rng(0).standard_normal(1500)
    assert bool(oscillating_loss.check(a_run(loss=loss + noise, lr=[0.1] * 1500))) is speaks


@pytest.mark.parametrize("seed", range(4))
def test_noise_of_both_losses_that_has_nothing_in_common_is_no_oscillation(seed):
    rng, time = np.random.default_rng(seed), np.arange(300)
    level = 4.1 + 2.8 * np.exp(-time / 20)
    train = level * rng.choice([0.8, 1.0, 1.25], 300)
    assert oscillating_loss.check(a_run(loss=train, val_loss=1.2 * level * np.exp(0.12 * rng.normal(size=300)))) == []


def test_speaks_of_a_cycle_in_a_run_of_sixty_epochs():
    square = 1.0 + 0.4 * np.sign(np.sin(2 * np.pi * (np.arange(60) + 0.5) / 6))
    noise = 0.03 * np.random.default_rng(3).normal(size=60)
    [found] = oscillating_loss.check(a_run(loss=square + noise))
    assert "every 6 readings" in found.message


def test_stays_silent_on_the_noise_of_a_short_run():
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(size=60)
        assert oscillating_loss.check(a_run(loss=1.0 + 0.9 * np.exp(-np.arange(60) / 10) + 0.1 * noise)) == []


def test_stays_silent_where_the_training_is_begun_anew_from_first_weights():
    falls = np.tile(np.geomspace(2.3, 0.05, 250), 4) * (1 + 0.02 * np.random.default_rng(0).standard_normal(1000))
    norms = np.tile(np.linspace(8.0, 14.0, 250), 4)
    assert not oscillating_loss.check(a_run(loss=falls, param_norm=norms))
    assert oscillating_loss.check(a_run(loss=falls, param_norm=np.linspace(8.0, 14.0, 1000)))
