from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.rules.still_falling import still_falling
from bedside.testing import a_run

RNG = np.random.default_rng(0)


FALLING = np.linspace(3, 1, 400) + 0.05 * RNG.normal(size=400)


def test_notes_a_run_that_ended_too_early():
    (finding,) = still_falling.check(a_run(loss=FALLING, finished=True))
    assert finding.severity == Severity.NOTE
    assert finding.try_ == ("Train for half as long again.",)
    (finding,) = still_falling.check(a_run(loss=FALLING, lr=list(np.linspace(0.1, 0.01, len(FALLING))), finished=True))
    assert "with the schedule stretched to 600 steps" in finding.try_[0]


@pytest.mark.parametrize("seed", range(10))
def test_stays_silent_when_it_has_settled(seed):
    loss = 1 + 2 * np.exp(-np.arange(400) / 40) + 0.05 * np.random.default_rng(seed).normal(size=400)
    assert still_falling.check(a_run(loss=loss, finished=True)) == []


def test_does_not_judge_a_run_that_is_going_on():
    assert isinstance(still_falling.examine(a_run(loss=FALLING)), NotExamined)


def test_stays_silent_when_it_only_comes_back_to_where_it_has_been():
    loss = np.r_[2.3 * np.exp(-np.arange(200) / 60), np.linspace(10.0, 4.0, 150)]
    assert not still_falling.check(a_run(loss=loss))
