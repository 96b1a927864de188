import numpy as np

from bedside.finding import NotExamined
from bedside.rules.runaway_weights import runaway_weights
from bedside.testing import a_run

STEPS = np.arange(300)


def test_speaks_when_weights_grow_exponentially_and_the_loss_rises():
    run = a_run(loss=2.0 + STEPS / 100, lr=0.1, param_norm=10 * 1.02**STEPS)
    [found] = runaway_weights.check(run)
    assert "faster and faster" in found.message
    assert 70 <= found.first_step <= 90  # three times as large as at a tenth of the run: more than any healthy net
    assert found.try_[0] == "Lower the learning rate from 0.1 to about 0.01."


def test_speaks_when_the_first_steps_blew_the_weights_up():
    norms = np.r_[np.geomspace(11, 800, 20), np.full(280, 810.0)]
    assert runaway_weights.check(a_run(loss=[2.3] * 300, param_norm=norms))


def test_names_the_module_that_runs_away():
    norms = {"": 10 * 1.02**STEPS, "calm": np.full(300, 9.0), "wild": 4 * 1.02**STEPS}
    [found] = runaway_weights.check(a_run(loss=2.0, param_norm=norms))
    assert found.where == ("wild",)


def test_stays_silent_when_weights_grow_ever_more_slowly():
    assert not runaway_weights.check(a_run(loss=2.3, param_norm=5 + 1.5 * np.sqrt(STEPS)))


def test_speaks_before_the_loss_suffers_when_the_growth_is_exponential():
    [found] = runaway_weights.check(a_run(loss=np.geomspace(2.3, 0.1, 300), param_norm=5 * 1.02**STEPS))
    assert "has not suffered yet" in found.message


def test_stays_silent_when_the_loss_pays_for_the_growth():
    run = a_run(loss=np.geomspace(2.3, 0.1, 300), param_norm=5 * 1.007**STEPS)
    assert not runaway_weights.check(run)


def test_stays_silent_when_weights_stand_still():
    assert not runaway_weights.check(a_run(loss=2.3, param_norm=[10.0] * 300))


def test_says_so_when_the_run_is_too_short():
    assert isinstance(runaway_weights.examine(a_run(steps=5, loss=2.3, param_norm=1.0)), NotExamined)


def multiplied(growth, moved, steps=24, **more):
    norms = 8 * (1 + growth) ** np.arange(steps)
    return runaway_weights.check(a_run(loss=2.3, param_norm=norms, relative_update_norm=moved, **more))


def test_speaks_at_once_when_weights_grow_by_more_than_the_steps_are_long():
    [found] = multiplied(0.01, 0.003)
    assert "something else multiplies them" in found.message
    assert found.first_step == 0


def test_stays_silent_when_the_steps_are_long_enough_for_the_growth():
    assert not multiplied(0.01, 0.008)


def test_stays_silent_when_weights_creep_or_were_changed_only_once():
    assert not multiplied(0.001, 1e-5)
    norms = np.r_[np.full(12, 8.0), np.full(12, 9.0)]
    assert not runaway_weights.check(a_run(loss=2.3, param_norm=norms, relative_update_norm=1e-3))


def test_does_not_hold_one_of_two_optimizers_responsible_for_what_the_other_moves():
    assert not multiplied(0.01, 0.003, config={"optimizers": [{"name": "Adam"}, {"name": "SGD"}]})


def test_steps_that_are_as_long_as_the_weights_they_make_account_for_any_growth():
    """Weights that grow 75-fold at a step took a step of 75 times what they were, 0.99 of what they are."""
    assert not [each for each in multiplied(75, 75 / 76) if "something else" in each.message]
