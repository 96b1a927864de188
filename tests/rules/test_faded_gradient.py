import numpy as np

from bedside.rules.faded_gradient import faded_gradient
from bedside.testing import a_run

FADED = np.r_[np.ones(50), np.full(250, 1e-6)]


def test_speaks_when_the_gradient_is_gone_and_the_loss_is_not():
    [found] = faded_gradient.check(a_run(loss=2.3, lr=0.1, grad_norm=FADED))
    assert found.first_step == 50


def test_stays_silent_when_the_job_is_done():
    assert not faded_gradient.check(a_run(loss=np.geomspace(2.3, 1e-3, 300), grad_norm=FADED))


def test_stays_silent_when_the_gradient_is_only_smaller():
    assert not faded_gradient.check(a_run(loss=2.3, grad_norm=np.geomspace(1, 0.01, 300)))
