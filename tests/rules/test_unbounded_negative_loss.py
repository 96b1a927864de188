from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.unbounded_negative_loss import unbounded_negative_loss
from bedside.testing import a_run

RNG = np.random.default_rng(0)


K = np.arange(300)


def test_speaks_when_a_wrong_sign_lets_the_loss_run_away():
    (finding,) = unbounded_negative_loss.check(a_run(loss=0.7 - 0.001 * K**2 + 0.1 * RNG.normal(size=300)))
    assert 0 < finding.first_step < 60


def test_speaks_when_the_loss_has_left_every_scale_though_it_slows_down():
    loss = -(10.0 ** np.minimum(3 + K / 10, 21)) * np.exp(RNG.normal(size=300))
    (finding,) = unbounded_negative_loss.check(a_run(loss=loss))
    assert "where it began at -" in finding.message


@pytest.mark.parametrize(
    "loss",
    [
        -0.9 + 1.5 * np.exp(-K / 40),
        -30 + 31 * np.exp(-K / 60) + 0.5 * RNG.normal(size=300),
        0.1 * RNG.normal(size=300),
        np.linspace(3, 0.1, 300),
        -2.5 + 2.6 * np.exp(-K / 15) - 0.0001 * K + 0.01 * RNG.normal(size=300),
    ],
    ids=["dice", "a likelihood that converges", "around zero", "positive", "a clipped critic that has settled"],
)
def test_stays_silent(loss):
    assert unbounded_negative_loss.check(a_run(loss=loss)) == []


def test_is_not_examined_when_too_short():
    assert isinstance(unbounded_negative_loss.examine(a_run(loss=[-1, -5, -90])), NotExamined)
