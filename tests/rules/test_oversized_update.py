import math

import numpy as np

from bedside.finding import Severity
from bedside.record.run import Parameter
from bedside.rules.oversized_update import oversized_update
from bedside.testing import a_run

BURST = [0.998, 0.5, 0.3, 0.2, 0.15]  # AdamW at a learning rate of 1.0, as recorded: over the weights after the step


def test_is_an_error_when_the_first_steps_replace_the_weights_and_the_loss_never_recovers():
    run = a_run(loss=[2.3, 9e4, 6e4, 100] + [2.35] * 296, lr=1.0, relative_update_norm=BURST + [0.01] * 295)
    [found] = oversized_update.check(run)
    assert (found.severity, found.first_step) == (Severity.ERROR, 0)
    assert found.try_[0] == "Lower the learning rate from 1 to about 6e-4."


def test_is_an_error_when_the_loss_overflows():
    run = a_run(loss=[2.3, 3, 5] + [math.nan] * 20, lr=10.0, relative_update_norm=[0.4, 0.4, 0.5] + [math.nan] * 20)
    [found] = oversized_update.check(run)
    assert found.severity == Severity.ERROR
    assert "to NaN" in found.message


def test_is_a_warning_when_the_loss_jumped_and_came_back():
    fall = list(np.geomspace(20, 0.3, 296))
    run = a_run(loss=[2.3, 24, 20, 18, *fall], lr=0.1, relative_update_norm=BURST + [0.005] * 295)
    [found] = oversized_update.check(run)
    assert found.severity == Severity.WARNING


def test_speaks_when_steps_stay_large_and_the_loss_hardly_moves():
    run = a_run(loss=list(np.linspace(2.3, 2.0, 300)), lr=10.0, relative_update_norm=0.08)
    [found] = oversized_update.check(run)
    assert found.severity == Severity.WARNING
    assert found.try_[0] == "Lower the learning rate from 10 to about 0.1."


def test_stays_silent_when_only_the_first_steps_of_an_adaptive_optimizer_are_long():
    run = a_run(loss=list(np.geomspace(2.3, 0.1, 300)), lr=1e-2, relative_update_norm=[0.15, 0.11] + [0.01] * 298)
    assert not oversized_update.check(run)


def test_stays_silent_on_large_steps_with_a_smoothly_falling_loss():
    run = a_run(loss=list(np.geomspace(2.3, 0.1, 300)), lr=1.0, relative_update_norm=0.05)
    assert not oversized_update.check(run)


def test_stays_silent_in_the_healthy_range_whatever_the_loss_does():
    assert not oversized_update.check(a_run(loss=[2.3] * 300, lr=1e-3, relative_update_norm=1e-3))


def test_leaves_one_wild_gradient_in_mid_run_to_exploding_gradient():
    ratio, grads = np.full(300, 1e-3), np.full(300, 1.0)
    ratio[200], grads[200] = 0.99, 900.0
    run = a_run(loss=[1.0] * 201 + [9.0] * 99, lr=0.1, relative_update_norm=ratio, grad_norm=grads)
    assert not oversized_update.check(run)


def test_stays_silent_when_weight_decay_has_shrunk_the_weights_to_nothing():
    run = a_run(loss=[2.3] * 300, relative_update_norm=0.2, param_norm=list(np.geomspace(11, 0.1, 300)))
    assert not oversized_update.check(run)


def test_waits_until_the_loss_had_time_to_come_back():
    run = a_run(loss=[4.7, 4.8, 4.5], lr=0.5, relative_update_norm=[0.8, 0.003, 0.003])
    assert not oversized_update.check(run)


def test_is_dated_from_where_the_steps_rose_above_what_is_healthy():
    climbing = [0.002 * 1.06**k for k in range(70)] + [0.3] * 10 + [0.01] * 40
    losses = [2.3 * 0.97**k for k in range(70)] + [50.0] * 10 + [3.0] * 40
    [found] = oversized_update.check(a_run(loss=losses, lr=0.1, relative_update_norm=climbing))
    assert 40 < found.first_step < 55


def test_a_gradient_that_climbed_is_not_one_wild_batch():
    norms = [1.0] * 60 + [1.4**k for k in range(10)] + [40.0] * 10 + [1.0] * 40
    ratios = [0.005] * 60 + [0.05] * 10 + [0.3] * 10 + [0.01] * 40
    losses = [2.3 * 0.97**k for k in range(70)] + [50.0] * 10 + [3.0] * 40
    [found] = oversized_update.check(a_run(loss=losses, lr=0.1, relative_update_norm=ratios, grad_norm=norms))
    assert found.first_step == 60


def with_dead_units(ratios):
    losses = [2.3 * 0.98**k for k in range(120)]
    return a_run(loss=losses, lr=0.4, relative_update_norm=ratios, dead_fraction={"1": [0.0] * 20 + [0.9] * 100})


def test_is_a_warning_when_units_died_while_the_weights_were_replaced():
    [found] = oversized_update.check(with_dead_units([0.08] * 30 + [0.01] * 90))
    assert (found.severity, found.first_step) == (Severity.WARNING, 0)
    assert found.message.endswith("times over by step 20, and 90 % of the units of `1` died.")


def test_stays_silent_when_units_died_of_something_else():
    assert not oversized_update.check(with_dead_units([0.005] * 120))


def test_first_steps_of_weights_that_began_at_zero_replace_nothing():
    weights = [Parameter("weight", "", 640, gradient_steps=100, watched_steps=100)]
    vitals = {"lr": 1e-3, "relative_update_norm": BURST + [0.01] * 95, "parameters": weights}
    slow = list(np.geomspace(2.3, 1.4, 100))
    assert oversized_update.check(a_run(loss=slow, config={"initial_param_norm": 3.0}, **vitals))
    assert not oversized_update.check(a_run(loss=slow, config={"initial_param_norm": 0.0}, **vitals))


def test_a_nan_that_comes_long_after_the_loss_has_come_down_has_another_cause():
    fall = list(np.geomspace(2.3, 0.1, 200))
    vitals = {"lr": 0.03, "relative_update_norm": BURST + [0.01] * 295}
    [found] = oversized_update.check(a_run(loss=fall + [math.nan] * 100, **vitals))
    assert found.severity == Severity.NOTE
    [found] = oversized_update.check(a_run(loss=fall[:10] + [math.nan] * 290, **vitals))
    assert found.severity == Severity.ERROR


def one_parameter(ratio, began=(1.0, 1.0), loss=None, name="gain"):
    """A bare parameter at the front whose steps have these ratios, in a network whose steps are moderate."""
    ratio = np.r_[ratio, np.full(200 - len(ratio), 0.01)]
    norms = {"": 10.0, name: np.linspace(*began, 200), "body": 10.0}
    updates = {"": 0.05, name: ratio, "body": 0.05}
    relative = {"": 0.005, name: ratio, "body": 0.005}
    loss = np.full(200, 2.2) if loss is None else loss
    return a_run(loss=loss, lr=0.1, param_norm=norms, update_norm=updates, relative_update_norm=relative)


def test_names_the_one_parameter_whose_steps_replace_it():
    [found] = oversized_update.check(one_parameter([0.98, 0.59, 0.44, 0.3]))
    assert found.where == ("gain",)
    assert "`gain` itself" in found.message
    assert "a parameter group of its own" in found.try_[0]


def test_a_bias_may_belong_near_zero_where_any_step_is_large_against_it():
    assert oversized_update.check(one_parameter([0.98, 0.59, 0.44, 0.3], name="head.bias")) == []


def test_a_parameter_that_begins_near_zero_has_to_grow():
    assert oversized_update.check(one_parameter([0.98, 0.59, 0.44, 0.3], began=(0.98, 5.0))) == []


def test_it_is_a_note_where_the_loss_does_not_mind():
    found = oversized_update.check(one_parameter([0.98, 0.59, 0.44, 0.3], loss=np.geomspace(2.3, 0.1, 200)))
    assert [each.severity for each in found] == [Severity.NOTE]


def test_says_nothing_about_a_loss_that_is_not_meant_to_fall():
    run = one_parameter([0.98, 0.59, 0.44, 0.3])
    run.config["loss_falls"] = False
    assert oversized_update.check(run) == []


def test_a_loss_that_still_falls_with_every_doubling_of_the_steps_may_yet_halve():
    falling = 4.3 * np.arange(1.0, 201.0) ** -0.12  # 8 % lower for twice the steps, as language models do it
    at_rest = np.r_[np.linspace(4.3, 3.1, 20), np.full(180, 3.1)]
    ratio = [0.4, 0.3, 0.3, 0.25, 0.2]
    assert falling[-1] > 0.5 * falling[0]
    assert [each.severity for each in oversized_update.check(one_parameter(ratio, loss=falling))] == [Severity.NOTE]
    assert [each.severity for each in oversized_update.check(one_parameter(ratio, loss=at_rest))] == [Severity.WARNING]


def test_a_note_prescribes_no_lower_rate_where_nothing_suffered():
    ratios = BURST + [0.005] * 295
    [note] = oversized_update.check(a_run(loss=list(np.geomspace(2.3, 0.1, 300)), lr=0.1, relative_update_norm=ratios))
    assert note.severity == Severity.NOTE
    assert not any("Lower the learning rate" in each for each in note.try_)
    jumped = [2.3, 24, 20, 18, *np.geomspace(20, 0.3, 296)]
    [warning] = oversized_update.check(a_run(loss=jumped, lr=0.1, relative_update_norm=ratios))
    assert any("Lower the learning rate" in each for each in warning.try_)
