import math

from bedside.analysis.progress import share_of_loss_won
from bedside.testing import a_run


def test_is_what_has_been_won_of_the_first_loss():
    assert abs(share_of_loss_won(a_run(loss=[2.0 - 0.01 * i for i in range(101)])) - 0.5) < 0.05
    assert share_of_loss_won(a_run(loss=[2.0] * 100)) == 0


def test_is_nothing_when_most_losses_are_not_finite():
    assert share_of_loss_won(a_run(loss=[2.0] * 30 + [math.nan] * 70)) == 0


def test_is_unknown_on_a_short_run():
    assert math.isnan(share_of_loss_won(a_run(loss=[2.0] * 5)))
