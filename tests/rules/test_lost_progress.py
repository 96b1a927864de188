from __future__ import annotations

import numpy as np
import pytest

from bedside.record.series import Series
from bedside.rules.lost_progress import lost_progress
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def noisy(curve, sigma=0.03):
    return curve * np.exp(sigma * RNG.normal(size=len(curve)))


FALL = 0.3 + 3.7 * np.exp(-np.arange(200) / 40)
COLLAPSE = 1.6 + 3.0 * np.exp(-np.arange(200) / 30)


def test_speaks_of_a_collapse_with_a_partial_recovery():
    (finding,) = lost_progress.check(a_run(loss=noisy(np.r_[FALL, COLLAPSE])))
    assert 195 <= finding.first_step <= 205
    assert "times its best" in finding.message
    run = a_run(loss=noisy(np.r_[FALL, COLLAPSE]))
    (finding,) = lost_progress.check(run)
    assert finding.evidence["best"] == run.loss.values[finding.evidence["best_step"]]


def test_speaks_of_a_language_model_that_never_doubles():
    before, after = 2.6 + 8 * np.exp(-np.arange(300) / 30), 4.0 + np.exp(-np.arange(200) / 20)
    assert lost_progress.check(a_run(loss=noisy(np.r_[before, after], 0.02)))


def test_speaks_of_evaluations_where_the_training_loss_ends_early():
    val = np.r_[np.linspace(4, 1, 15), np.linspace(1, 3.4, 15)]
    early = Series("loss", "", np.arange(50), np.linspace(4, 3, 50))
    (finding,) = lost_progress.check(a_run(loss=early, val_loss=val, steps=3000))
    assert finding.series[0] == "val/loss"


@pytest.mark.parametrize(
    "loss",
    [
        noisy(np.r_[FALL, np.full(100, 0.31)]),
        noisy(np.r_[FALL, [3.0] * 5, np.full(100, 0.31)]),
        noisy(np.r_[FALL, 3.0 * np.exp(-np.arange(30) / 12)]),
        noisy(np.r_[np.geomspace(2, 1e-4, 200), np.full(100, 5e-4)]),
        noisy(np.concatenate([k * 0.2 + 0.4 + 2 * np.exp(-np.arange(80) / 20) for k in range(4)])),
        2.0 + 0.2 * np.cumsum(RNG.normal(size=300)) / 17,
    ],
    ids=["it stays", "a spike", "on its way back", "next to nothing", "stages", "a walk"],
)
def test_stays_silent(loss):
    assert lost_progress.check(a_run(loss=loss)) == []


def test_stays_silent_in_a_warm_restart():
    rate = np.r_[np.linspace(1e-3, 1e-5, 200), np.full(60, 1e-3)]
    loss = noisy(np.r_[FALL, np.full(60, 1.2)])
    assert lost_progress.check(a_run(loss=loss, lr=rate)) == []
    assert lost_progress.check(a_run(loss=loss))


def test_a_long_slow_rise_needs_to_give_back_less():
    fall = 2.35 + 6 * np.exp(-np.arange(300) / 50)
    rise = 2.37 + 0.75 * (1 - np.exp(-np.arange(200) / 80))
    (finding,) = lost_progress.check(a_run(loss=np.r_[fall, rise] + 0.02 * RNG.normal(size=500)))
    assert "1.3 times its best" in finding.message
    step = np.r_[fall, np.full(200, 3.05)]
    assert lost_progress.check(a_run(loss=step + 0.02 * RNG.normal(size=500))) == []


@pytest.mark.parametrize("last", [0.55, 0.30], ids=["it climbs to the end", "it turned"])
def test_a_few_epochs_are_enough_where_each_is_worse_than_the_one_before(last):
    fall = [2.58, 2.38, 1.65, 1.3, 1.1, 0.89, 0.67, 0.5, 0.34, 0.21, 0.11, 0.069, 0.061]
    run = a_run(loss=[*fall, 0.067, 0.11, 0.2, 0.33, 0.46, last], steps=19)
    assert bool(lost_progress.check(run)) is (last == 0.55)
