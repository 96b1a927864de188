"""What became of the loss after a step that may have harmed it."""

from __future__ import annotations

import math

import numpy as np

from bedside.analysis.loss_after import loss_after
from bedside.record.series import Series


def fate(values, step):
    series = Series("loss", "", np.arange(len(values)), np.asarray(values, float))
    return loss_after(series, step, time_to_recover=20, recent=5, came_down=0.5)


def test_levels_are_not_those_of_one_batch():
    found = fate([2.0] * 10 + [6.0, 6.0, 6.0, 50.0] + [1.0] * 40, 9)
    assert (found.level, found.peak, found.end) == (2.0, 6.0, 1.0)


def test_an_overflow_soon_after_is_blamed_on_the_step():
    assert fate([2.0] * 10 + [2.0] * 10 + [math.nan] * 10, 9).overflowed


def test_an_overflow_after_the_loss_came_down_is_not():
    assert not fate([2.0] * 10 + [0.5] * 40 + [math.nan] * 10, 9).overflowed


def test_a_loss_on_its_way_falls_by_doubling():
    assert fate([3.0] + [2.0 * k**-0.1 for k in range(1, 400)], 0).falls_by_doubling > 0.05
    assert fate([2.0] * 400, 0).falls_by_doubling == 0.0


def test_nothing_after_the_step_is_no_fate():
    assert fate([2.0] * 10, 20) is None
