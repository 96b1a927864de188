import numpy as np

from bedside.rules.loss_scale_collapse import loss_scale_collapse
from bedside.testing import a_run


def test_speaks_when_the_scale_is_halved_down_to_nothing():
    scale = np.r_[np.full(50, 65536.0), np.maximum(65536.0 / 2.0 ** np.arange(1, 51), 2.0**-10)]
    [found] = loss_scale_collapse.check(a_run(loss=2.0, loss_scale=scale, lr=1e-3))
    assert found.first_step == 50
    assert "bfloat16" in found.try_[0]


def test_stays_silent_when_the_first_scale_was_too_high_and_then_holds():
    scale = np.r_[65536.0 / 2.0 ** np.arange(6), np.full(194, 2048.0)]
    assert not loss_scale_collapse.check(a_run(loss=2.0, loss_scale=scale))


def test_stays_silent_when_scaling_is_off():
    assert not loss_scale_collapse.check(a_run(loss=[2.0] * 100, loss_scale=1.0))


def test_stays_silent_when_the_scale_recovers():
    scale = np.r_[np.full(50, 65536.0), 65536.0 / 2.0 ** np.arange(17), np.full(100, 4096.0)]
    assert not loss_scale_collapse.check(a_run(loss=2.0, loss_scale=scale))
