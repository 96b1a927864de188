import numpy as np

from bedside.rules.late_overshoot import late_overshoot
from bedside.testing import a_run

GROWING = np.r_[np.full(150, 1e-3), 1e-3 * 1.02 ** np.arange(150)]
FLAT = 0.5 + 0.01 * np.random.default_rng(0).standard_normal(300)


def test_speaks_when_steps_grow_and_the_loss_stands_still():
    [found] = late_overshoot.check(a_run(loss=FLAT, lr=1e-3, relative_update_norm=GROWING))
    assert found.try_[0].startswith("Lower the learning rate from 0.001 to about 1e-4")


def test_stays_silent_when_the_loss_falls():
    assert not late_overshoot.check(a_run(loss=np.geomspace(2, 0.1, 300), lr=1e-3, relative_update_norm=GROWING))


def test_stays_silent_when_the_learning_rate_rises_with_the_steps():
    assert not late_overshoot.check(a_run(loss=FLAT, lr=GROWING, relative_update_norm=GROWING))


def test_stays_silent_when_steps_shrink_or_stay():
    assert not late_overshoot.check(a_run(loss=FLAT, lr=1e-3, relative_update_norm=1e-3))


def test_stays_silent_when_it_is_the_weights_that_shrink():
    weights = np.geomspace(10, 2, 300)
    run = a_run(loss=FLAT, lr=1e-3, relative_update_norm=GROWING, param_norm=weights)
    assert not late_overshoot.check(run)
