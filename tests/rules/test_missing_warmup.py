import numpy as np

from bedside.rules.missing_warmup import missing_warmup
from bedside.testing import a_run

NOISE = 0.05 * np.random.default_rng(0).standard_normal(300)
FALL = np.geomspace(2.3, 0.3, 300) + NOISE


def test_speaks_when_the_loss_jumps_at_full_rate_and_comes_back():
    loss = FALL.copy()
    loss[1:12] += 4
    [found] = missing_warmup.check(a_run(loss=loss, lr=1e-3))
    assert found.try_[0] == "Warm the learning rate up over the first 15 steps."


def test_stays_silent_when_there_was_a_warm_up():
    loss = FALL.copy()
    loss[1:12] += 4
    assert not missing_warmup.check(a_run(loss=loss, lr=np.r_[np.linspace(1e-5, 1e-3, 15), np.full(285, 1e-3)]))


def test_stays_silent_when_the_loss_falls_from_the_start():
    assert not missing_warmup.check(a_run(loss=FALL, lr=1e-3))


def test_stays_silent_when_the_loss_only_wiggles():
    assert not missing_warmup.check(a_run(loss=1.0 + 8 * NOISE, lr=1e-3))


def test_stays_silent_when_the_loss_rises_later_than_the_first_steps():
    loss = FALL.copy()
    loss[18:28] += 4
    assert not missing_warmup.check(a_run(loss=loss, lr=1e-3))


def test_stays_silent_when_the_first_steps_were_no_longer_than_the_others():
    loss = FALL.copy()
    loss[1:12] += 4
    assert not missing_warmup.check(a_run(loss=loss, lr=1e-3, relative_update_norm=2e-3))
    ratio = np.r_[np.full(8, 0.1), np.full(292, 2e-3)]
    assert missing_warmup.check(a_run(loss=loss, lr=1e-3, relative_update_norm=ratio))


def test_stays_silent_when_every_batch_is_that_different():
    rng = np.random.default_rng(3)
    for _ in range(20):
        loss = np.geomspace(2.0, 0.2, 400) * np.exp(0.5 * rng.normal(size=400))
        assert not missing_warmup.check(a_run(loss=loss, lr=1e-3))
