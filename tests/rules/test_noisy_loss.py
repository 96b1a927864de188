from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import NotExamined, Severity
from bedside.rules.noisy_loss import noisy_loss
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def test_notes_that_the_scatter_hides_everything():
    (finding,) = noisy_loss.check(a_run(loss=np.exp(RNG.normal(size=400))))
    assert finding.severity == Severity.NOTE


def test_warns_when_long_steps_follow_noise_and_lead_nowhere():
    loss = np.maximum(1.1, 2.3 - 0.01 * np.arange(500)) + 0.4 * RNG.normal(size=500)
    (finding,) = noisy_loss.check(a_run(loss=loss, gradient_noise=16.0, relative_update_norm=0.02, lr=0.1))
    assert finding.severity == Severity.WARNING
    assert "from 0.1 to about 0.02" in finding.try_[1]


@pytest.mark.parametrize(
    ("end", "noise", "moved"),
    [(1.1, 3.0, 0.02), (1.1, 16.0, 0.002), (0.3, 16.0, 0.02)],
    ids=["gradients that agree", "short steps", "at rest at the bottom"],
)
def test_stays_silent_on_a_plateau_that_noise_does_not_explain(end, noise, moved):
    loss = np.maximum(end, 2.3 - 0.01 * np.arange(500)) + 0.05 * RNG.normal(size=500)
    assert noisy_loss.check(a_run(loss=loss, gradient_noise=noise, relative_update_norm=moved)) == []


def test_stays_silent_on_noise_while_the_loss_falls():
    loss = np.linspace(2.3, 1.5, 500) + 0.2 * RNG.normal(size=500)
    assert noisy_loss.check(a_run(loss=loss, gradient_noise=16.0, relative_update_norm=0.02)) == []


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
