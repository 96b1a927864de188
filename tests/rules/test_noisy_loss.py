from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined
from bedside.rules.noisy_loss import noisy_loss
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def test_speaks_when_the_scatter_hides_everything():
    (finding,) = noisy_loss.check(a_run(loss=np.exp(RNG.normal(size=400))))
    assert finding.preview


@pytest.mark.parametrize(
    "loss",
    [
        1 + 0.1 * RNG.normal(size=400),
        np.linspace(10, 1, 400) * np.exp(0.7 * RNG.normal(size=400)),
        -1 + RNG.normal(size=400),
    ],
    ids=["ordinary noise", "it falls all the same", "may be negative"],
)
def test_stays_silent(loss):
    assert noisy_loss.check(a_run(loss=loss)) == []


def test_is_not_examined_when_too_short():
    assert isinstance(noisy_loss.examine(a_run(loss=[1, 9, 1, 9])), NotExamined)
