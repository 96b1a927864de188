import numpy as np

from bedside.finding import NotExamined
from bedside.rules.accumulating_gradient import accumulating_gradient
from bedside.testing import a_run


def test_speaks_when_gradients_are_never_cleared():
    [found] = accumulating_gradient.check(a_run(loss=[2.3] * 100, grads_not_zeroed=1.0))
    assert "nothing clears it" in found.message
    assert "zero_grad()" in found.try_[0]


def test_speaks_when_gradients_are_cleared_only_every_fourth_step():
    [found] = accumulating_gradient.check(
        a_run(loss=[2.3] * 100, grads_not_zeroed=(np.arange(100) % 4 > 0).astype(float))
    )
    assert "every 4 steps" in found.message


def test_stays_silent_when_every_step_clears():
    assert not accumulating_gradient.check(a_run(loss=[2.3] * 100, grads_not_zeroed=0.0))


def test_stays_silent_when_the_loop_was_late_once():
    seen = np.zeros(100)
    seen[[1, 2, 50]] = 1
    assert not accumulating_gradient.check(a_run(loss=[2.3] * 100, grads_not_zeroed=seen))


def test_says_so_when_nobody_looked():
    assert isinstance(accumulating_gradient.examine(a_run(loss=[2.3] * 100)), NotExamined)
