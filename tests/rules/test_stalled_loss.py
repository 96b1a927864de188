from __future__ import annotations

import numpy as np
import pytest

from bedside.rules.stalled_loss import stalled_loss
from bedside.testing import a_run

RNG = np.random.default_rng(0)


def curve(start, end, n=200, time=10, noise=0.01):
    return end + (start - end) * np.exp(-np.arange(n) / time) + noise * RNG.normal(size=n)


def test_speaks_when_only_the_head_learned():
    (finding,) = stalled_loss.check(a_run(loss=curve(11.3, 10.3), config={"vocab_size": 50280}, lr=1e-3))
    assert finding.first_step == pytest.approx(30, abs=20)
    assert "from 0.001 to about 0.01" in finding.try_[0]


def test_speaks_when_the_accuracy_stays_at_nothing():
    assert stalled_loss.check(a_run(loss=curve(8, 6.5), val_accuracy=[0.001, 0.002, 0.002, 0.002]))


@pytest.mark.parametrize(
    "run",
    [
        a_run(loss=curve(11.3, 3.3), config={"vocab_size": 50280}),
        a_run(loss=curve(11.3, 8.3, time=150), config={"vocab_size": 50280}),
        a_run(loss=curve(1.0, 0.6), config={"classes": 2}),
        a_run(loss=curve(5.0, 2.0)),
        a_run(loss=curve(10.3, 10.3), config={"vocab_size": 50280}),
    ],
    ids=["well trained", "still falling", "two noisy classes", "nothing known", "never moved"],
)
def test_stays_silent(run):
    assert stalled_loss.check(run) == []


def test_stays_silent_on_a_sum_over_the_batch():
    loss = [1950.0, 1600.0, 1450.0] + [1400.0, 1398.0, 1402.0] * 40
    assert stalled_loss.check(a_run(loss=loss, config={"vocab_size": 70})) == []


def test_stays_silent_when_the_loss_leaves_no_room_for_so_poor_an_accuracy():
    loss = [2.3, 1.2, 0.6, 0.2] + [0.05, 0.051, 0.049] * 40
    assert stalled_loss.check(a_run(loss=loss, val_accuracy=[0.05] * 12)) == []
    assert stalled_loss.check(a_run(loss=[2.3, 2.2] + [2.1, 2.11, 2.09] * 40, val_accuracy=[0.05] * 12))
