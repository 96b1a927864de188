import numpy as np

from bedside.finding import NotExamined
from bedside.rules.faded_gradient import faded_gradient
from bedside.testing import a_run

FADED = np.r_[np.ones(50), np.full(250, 1e-6)]


def test_speaks_when_the_gradient_is_gone_and_the_loss_is_not():
    [found] = faded_gradient.check(a_run(loss=2.3, lr=0.1, grad_norm=FADED))
    assert found.first_step == 50


def test_needs_two_readings_in_the_first_tenth():
    few = np.r_[np.ones(4), np.zeros(20)]
    assert faded_gradient.check(a_run(loss=2.3, grad_norm=few))
    assert isinstance(faded_gradient.examine(a_run(loss=2.3, grad_norm=few[:-1])), NotExamined)


def test_stays_silent_when_the_job_is_done():
    assert not faded_gradient.check(a_run(loss=np.geomspace(2.3, 1e-3, 300), grad_norm=FADED))


def test_stays_silent_when_the_gradient_is_only_smaller():
    assert not faded_gradient.check(a_run(loss=2.3, grad_norm=np.geomspace(1, 0.01, 300)))


def test_speaks_when_the_gradient_is_zero_at_every_reading_of_a_flat_loss():
    [found] = faded_gradient.check(a_run(loss=[208.4, 208.5, 209.1, 208.8, 209.0], grad_norm=[0.0] * 5))
    assert "zero at all 5 readings" in found.message


def test_says_nothing_of_a_zero_norm_beside_a_loss_that_falls():
    run = a_run(loss=[3.0, 2.5, 2.1, 1.8, 1.6], grad_norm=[0.0] * 5)
    assert isinstance(faded_gradient.examine(run), NotExamined)
