from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.erratic_validation import erratic_validation
from bedside.testing import a_run


def train(n=2000, noise=0.02, seed=0):
    return (0.3 + 2 * np.exp(-np.arange(n) / 400)) * np.exp(noise * np.random.default_rng(seed).normal(size=n))


def good(n=60):
    return 0.5 + 1.8 * np.exp(-np.arange(n) / 12)


def test_speaks_when_evaluations_differ_by_factors_throughout():
    rng = np.random.default_rng(1)
    (finding,) = erratic_validation.check(
        a_run(loss=train(), val_loss=good() * np.exp(0.8 * rng.normal(size=60)), lr=0.1)
    )
    assert "between evaluations" in finding.message
    assert "from 0.1 to about 0.03" in finding.try_[0]


@pytest.mark.parametrize("seed", range(5))
def test_speaks_when_a_handful_of_examples_is_louder_than_a_batch(seed):
    val = good() * np.exp(0.8 * np.random.default_rng(seed).normal(size=60))
    assert erratic_validation.check(a_run(loss=train(noise=0.2), val_loss=val))


def test_speaks_on_an_episode_of_a_negative_loss_and_dates_it():
    val = -0.4 - 0.4 * (1 - np.exp(-np.arange(200) / 40))
    val[80:120:4] = -0.2
    (finding,) = erratic_validation.check(a_run(loss=train() - 2, val_loss=val))
    assert finding.first_step == pytest.approx(800, abs=20)
    assert finding.last_step < 1300


@pytest.mark.parametrize(("apart", "speaks"), [(6, True), (9, False)])
def test_single_bad_evaluations_far_apart_are_no_episode(apart, speaks):
    val = good(80)
    val[[20, 20 + apart, 20 + 2 * apart]] = 2.4  # the last of three is within 1/6 of 13 evaluations, not of 19
    assert bool(erratic_validation.check(a_run(loss=train(), val_loss=val))) is speaks


def test_stays_silent_on_a_loss_that_falls_by_leaps_and_never_rises():
    down = np.exp(-np.cumsum([4.0, 0.3, 2.4, 2.0, 1.9, 2.9, 1.1, 3.5, 0.8, 2.5, 3.3, 0.7, 1.4, 0.0]))
    assert erratic_validation.check(a_run(loss=train(), val_loss=down)) == []
    restless = down * np.tile([1.0, 30.0], 7)
    assert erratic_validation.check(a_run(loss=train(), val_loss=restless))


@pytest.mark.parametrize("seed", range(10))
def test_stays_silent_on_a_small_validation_set(seed):
    val = good() * np.exp(0.15 * np.random.default_rng(seed).normal(size=60))
    assert erratic_validation.check(a_run(loss=train(), val_loss=val)) == []


@pytest.mark.parametrize("seed", range(5))
def test_stays_silent_when_training_is_as_noisy(seed):
    val = good() * np.exp(0.5 * np.random.default_rng(seed).normal(size=60))
    assert erratic_validation.check(a_run(loss=train(noise=0.4), val_loss=val)) == []


@pytest.mark.parametrize("seed", range(5))
def test_stays_silent_on_a_flat_validation_loss(seed):
    val = 1 + 0.03 * np.random.default_rng(seed).normal(size=60)
    assert erratic_validation.check(a_run(loss=train(noise=0.001), val_loss=val)) == []


def test_stays_silent_on_wild_first_epochs_of_a_long_run():
    val = good(100)
    val[1:9:2] = 3.0
    assert erratic_validation.check(a_run(loss=train(), val_loss=val)) == []


def test_is_not_examined_with_few_evaluations():
    assert isinstance(erratic_validation.examine(a_run(loss=train(), val_loss=[1, 2, 1, 2])), NotExamined)


def test_speaks_when_evaluations_grow_wild_only_once_most_examples_are_known():
    calm = np.geomspace(2.0, 0.3, 20)
    wild = np.tile([0.3, 0.05, 0.2, 0.04, 0.35, 0.1], 4)
    run = a_run(loss=np.geomspace(2.0, 0.2, 220), val_loss=np.r_[calm, wild])
    assert erratic_validation.check(run)


def test_what_training_won_before_the_first_evaluation_is_no_measure():
    """A task that is learned within the first epoch: afterwards both curves wander, the held-out one no more."""
    rng = np.random.default_rng(0)
    loss = np.r_[4 * np.exp(-np.arange(20) / 4), np.zeros(380)] + rng.normal(0.48, 0.1, 400)
    val = np.full(400, np.nan)
    val[19::20] = [
        0.6,
        0.54,
        0.44,
        0.49,
        0.59,
        0.46,
        0.54,
        0.66,
        0.53,
        0.4,
        0.63,
        0.46,
        0.49,
        0.49,
        0.36,
        0.44,
        0.54,
        0.6,
        0.47,
        0.61,
    ]
    assert erratic_validation.check(a_run(loss=loss, val_loss=val)) == []


@pytest.mark.parametrize(("noise", "speaks"), [(0.12, False), (0.35, True)])
def test_a_small_validation_set_of_a_model_that_improves_little_is_not_erratic(noise, speaks):
    rng, time = np.random.default_rng(5), np.arange(35)
    level = 2.0 * (1 - 0.25 * (1 - np.exp(-time / 7)))
    run = a_run(loss=level * np.exp(0.01 * rng.normal(size=35)), val_loss=level * np.exp(noise * rng.normal(size=35)))
    assert bool(erratic_validation.check(run)) is speaks
