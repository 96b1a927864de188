from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.record.run import Event
from bedside.rules.epoch_boundary_jump import epoch_boundary_jump
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def saw(height, n=600, epoch=100, noise=0.02):
    k = np.arange(n)
    return 2 * np.exp(-k / 400) + height * (1 - (k % epoch) / epoch) + noise * RNG.normal(size=n)


def epochs(n=600, epoch=100):
    return np.arange(n) / epoch


def test_speaks_when_each_epoch_begins_higher_than_the_last_ended():
    (finding,) = epoch_boundary_jump.check(a_run(loss=saw(0.8), epoch=epochs()))
    assert finding.first_step == 100
    assert finding.evidence["boundaries"] == 5


def test_takes_the_boundaries_from_events_as_well():
    events = [Event(step, "epoch") for step in range(0, 600, 100)]
    assert epoch_boundary_jump.check(a_run(loss=saw(0.8), events=events))


@pytest.mark.parametrize("loss", [saw(0.0), saw(0.0, noise=0.5), saw(-0.5)], ids=["smooth", "noisy", "staircase down"])
def test_stays_silent(loss):
    assert epoch_boundary_jump.check(a_run(loss=loss, epoch=epochs())) == []


def test_is_not_examined_without_epochs_or_with_one_reading_per_epoch():
    assert isinstance(epoch_boundary_jump.examine(a_run(loss=saw(0.8))), NotExamined)
    assert isinstance(epoch_boundary_jump.examine(a_run(loss=saw(0.8, n=60), epoch=np.arange(60))), NotExamined)


def test_evaluations_at_regular_steps_stand_for_epochs_that_nobody_counted():
    teeth = [2.0 - 0.01 * (k % 50) + 0.01 * (k % 3) - 0.001 * k for k in range(300)]
    regular = [1.5 if k % 50 == 49 else math.nan for k in range(300)]
    [found] = epoch_boundary_jump.check(a_run(loss=teeth, val_loss=regular))
    assert "first at step 50" in found.message
    irregular = [1.5 if k in (49, 99, 160, 199, 249) else math.nan for k in range(300)]
    assert isinstance(epoch_boundary_jump.examine(a_run(loss=teeth, val_loss=irregular)), NotExamined)
