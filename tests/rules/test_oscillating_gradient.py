import numpy as np

from bedside.finding import NotExamined
from bedside.record.series import Series
from bedside.rules.oscillating_gradient import oscillating_gradient
from bedside.testing import a_run

NOISE = np.exp(0.3 * np.random.default_rng(0).standard_normal(400))


def test_speaks_when_the_norm_bounces_from_step_to_step():
    [found] = oscillating_gradient.check(a_run(loss=2.0, lr=0.6, grad_norm=np.tile([1.0, 8.0], 200) * NOISE))
    assert found.try_[0] == "Lower the learning rate from 0.6 to about 0.2."


def test_stays_silent_on_noise():
    for seed in range(20):
        noise = np.exp(np.random.default_rng(seed).standard_normal(400))
        assert not oscillating_gradient.check(a_run(loss=2.0, grad_norm=noise))


def test_stays_silent_on_slow_waves_and_small_ripples():
    assert not oscillating_gradient.check(a_run(loss=2.0, grad_norm=2 + np.sin(np.arange(400) / 20)))
    assert not oscillating_gradient.check(a_run(loss=2.0, grad_norm=np.tile([1.0, 1.3], 200)))


def test_says_so_when_only_every_tenth_step_was_logged():
    norms = Series("grad_norm", "", np.arange(0, 4000, 10), np.tile([1.0, 8.0], 200))
    assert isinstance(oscillating_gradient.examine(a_run(loss=2.0, grad_norm=norms)), NotExamined)
