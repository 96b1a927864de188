import math

import numpy as np
import pytest

from bedside.analysis.progress import converged, learned_to_the_end, share_of_loss_won
from bedside.testing import a_run


def test_is_what_has_been_won_of_the_first_loss():
    assert abs(share_of_loss_won(a_run(loss=[2.0 - 0.01 * i for i in range(101)])) - 0.5) < 0.05
    assert share_of_loss_won(a_run(loss=[2.0] * 100)) == 0


def test_is_nothing_when_most_losses_are_not_finite():
    assert share_of_loss_won(a_run(loss=[2.0] * 30 + [math.nan] * 70)) == 0


def test_is_unknown_on_a_short_run():
    assert math.isnan(share_of_loss_won(a_run(loss=[2.0] * 5)))


@pytest.mark.parametrize(("first", "share"), [(36.0, 0.5), (2.0, 0.425)])
def test_coming_down_from_above_a_blind_guess_does_not_count(first, share):
    """Of 36 where a guess has 2.3, what was won is what lies below 2.3; of 2, what lies below 2."""
    run = a_run(loss=np.r_[np.full(30, first), np.full(70, 1.15)], config={"classes": 10})
    assert share_of_loss_won(run) == pytest.approx(share, abs=0.01)


def losing(to, gradient=None):
    falls = {"loss": np.r_[np.full(30, 2.0), np.geomspace(2.0, 2.0 * to, 40), np.full(60, 2.0 * to)]}
    if gradient is not None:
        falls["grad_norm"] = np.r_[np.full(30, 5.0), np.geomspace(5.0, 5.0 * gradient, 40), np.full(60, 5.0 * gradient)]
    return a_run(**falls)


@pytest.mark.parametrize(("left", "finished"), [(0.0007, True), (0.002, False)])
def test_a_run_has_converged_at_a_thousandth_of_its_first_loss(left, finished):
    assert converged(losing(left)) is finished


@pytest.mark.parametrize(("left", "finished"), [(0.0007, True), (0.002, False)])
def test_where_gradients_are_recorded_they_have_to_be_gone_too(left, finished):
    assert converged(losing(1e-5, gradient=left)) is finished


def test_a_run_of_a_few_losses_has_not_converged():
    assert not converged(a_run(loss=[2.0, 1e-9, 1e-9]))


def test_learning_to_the_end_is_that_of_training_and_validation():
    steady, done = np.linspace(3, 1, 100), np.r_[np.linspace(3, 1, 50), np.full(50, 1.0)]
    assert learned_to_the_end(a_run(loss=steady, val_loss=steady[9::10]), 0.2)
    assert not learned_to_the_end(a_run(loss=steady, val_loss=steady[9::10]), 0.3)
    assert not learned_to_the_end(a_run(loss=steady, val_loss=done[9::10]), 0.1)
    assert not learned_to_the_end(a_run(loss=done, val_loss=steady[9::10]), 0.1)
    assert not learned_to_the_end(a_run(loss=steady), 0.1)  # nothing was held out
