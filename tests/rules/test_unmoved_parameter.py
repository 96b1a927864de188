import numpy as np

from bedside.finding import Severity
from bedside.record.run import Event, Parameter
from bedside.rules.unmoved_parameter import unmoved_parameter
from bedside.testing import a_run

GRADS = {"front": 1.0, "head": 2.0}


def check(moves, **more):
    return unmoved_parameter.check(a_run(loss=[2.0] * 100, update_norm=moves, grad_norm=GRADS, **more))


def test_speaks_when_a_module_with_a_gradient_does_not_move():
    [found] = check({"": 0.1, "front": 0.1, "head": 0.0})
    assert (found.severity, found.where) == (Severity.WARNING, ("head",))


def test_is_a_note_when_a_group_has_a_learning_rate_of_zero():
    [found] = check({"": 0.1, "front": 0.1, "head": 0.0}, lr={"": 1e-3, "group_1": 0.0})
    assert found.severity == Severity.NOTE


def test_warns_when_what_that_group_holds_is_still_random():
    moves, rates = {"": 0.1, "front": 0.1, "head": 0.0}, {"": 1e-3, "group_1": 0.0}
    looked = Event(50, "hardly_stepped_weights", {"names": ["head"], "size": 4160})
    [found] = check(moves, lr=rates, events=[looked])
    assert found.severity == Severity.WARNING
    assert found.message.endswith("They still hold the random numbers that they were made with (4,160 of them).")
    [found] = check(moves, lr=rates, events=[Event(50, "hardly_stepped_weights", {"names": ["other"], "size": 4160})])
    assert found.severity == Severity.NOTE


def test_leaves_parameters_in_no_optimizer_to_uncovered_parameter():
    head = Parameter("head.weight", "head", 10, in_optimizer=False)
    assert not check({"": 0.1, "front": 0.1, "head": 0.0}, parameters=[head])


def test_stays_silent_when_everything_moves():
    assert not check({"": 0.1, "front": 0.1, "head": 0.001})


def test_stays_silent_when_nothing_moves_because_then_it_is_not_about_a_module():
    assert not check({"": 0.0, "front": 0.0, "head": 0.0})


def test_stays_silent_when_the_learning_rate_has_gone_and_some_steps_round_to_zero():
    fading = 0.1 * 0.8 ** np.arange(100)
    assert not check({"": fading, "front": fading, "head": np.where(fading > 1e-6, fading, 0)})


def with_a_step_of(size, lr=1e-9):
    moves = {"": 0.1, "front": size, "head": 0.1}
    return a_run(
        loss=[2.0] * 100,
        update_norm=moves,
        param_norm={"front": 5.0, "head": 1.0},
        grad_norm={"front": 1.0, "head": 2.0},
        lr={"": lr, "group_1": 1e-3},
    )


def test_speaks_when_the_steps_cannot_change_a_bit():
    [found] = unmoved_parameter.check(with_a_step_of(1e-8))
    assert (found.where, found.severity) == (("front",), Severity.WARNING)


def test_stays_silent_when_the_steps_are_small_but_change_the_weights():
    assert not unmoved_parameter.check(with_a_step_of(1e-5))


def short_advice(dtype):
    head = Parameter("head.weight", "head", 10, dtype=dtype)
    [found] = check({"": 0.1, "front": 0.1, "head": 0.0}, parameters=[head])
    return [each for each in found.try_ if "half precision" in each]


def test_half_precision_is_named_only_where_weights_are_kept_in_it():
    assert short_advice("bfloat16")
    assert not short_advice("float32")


def vanished(gradient, optimizer):
    return unmoved_parameter.check(
        a_run(
            loss=[2.0] * 100,
            update_norm={"": 0.1, "front": 0.0, "head": 0.1},
            param_norm={"front": 5.0, "head": 1.0},
            grad_norm={"front": gradient, "head": 2.0},
            lr=0.03,
            config={"optimizers": [{"name": optimizer}]},
        )
    )


def test_a_gradient_too_small_to_move_anything_by_plain_descent_is_another_fault():
    assert not vanished(5e-13, "SGD")
    assert vanished(5e-13, "AdamW")  # which steps as far for a small one
    assert vanished(1.0, "SGD")
