import math

from bedside.finding import NotExamined, Severity
from bedside.record.run import Event
from bedside.rules.nonfinite_activation import nonfinite_activation
from bedside.testing import a_run

NAN = math.nan
WATCHED = Event(0, "coverage")
DEAD_AT_60 = [2.0] * 60 + [NAN] * 40


def origin(kind, step=60, **data):
    return Event(step, "origin", {"kind": kind, "loss": NAN, **data})


def module(name="4", cls="Bad", **data):
    return origin("module", module=name, **{"class": cls}, inputs_finite=True, weights_finite=True, **data)


def check(*events, loss=DEAD_AT_60, **vitals):
    return nonfinite_activation.check(a_run(loss=loss, events=[WATCHED, *events], **vitals))


def test_names_the_module_in_which_it_was_born():
    [found] = check(module(), origin("weights", 61, module="0", **{"class": "Linear"}))
    assert (found.severity, found.where, found.first_step) == (Severity.ERROR, ("4",), 60)
    assert "`4` (Bad) made NaN" in found.message
    assert "In Bad.forward" in found.try_[0]


def test_says_when_it_was_made_between_two_children():
    [found] = check(module(before="4.two"))
    assert "before `4.two`" in found.message


def test_names_the_loss_when_the_model_was_well():
    [found] = check(origin("loss", function="cross_entropy", labels_all_ignored=True))
    assert found.where == ()
    assert "Every label of the batch at step 60 is ignored" in found.message


def test_says_that_the_targets_were_bad():
    [found] = check(origin("loss", function="mse_loss", targets_finite=False))
    assert found.message.startswith("The targets of the batch at step 60")


def test_is_a_note_when_the_run_went_on_with_a_finite_loss():
    [found] = check(module(), loss=[2.0] * 60 + [NAN] + [2.0] * 39)
    assert found.severity == Severity.NOTE


def test_falls_back_to_sampled_outputs_and_takes_the_front_most():
    bad = [0.0] * 60 + [0.5] * 40
    [found] = check(origin("late", weights=["a"]), nonfinite_activations={"a": 0.0, "b": bad, "c": bad})
    assert (found.where, found.first_step) == (("b",), 60)
    assert found.confidence < 0.8


def test_tells_the_one_that_ended_the_run_after_one_that_did_not():
    loss = [2.0] * 30 + [NAN] + [2.0] * 29 + [NAN] * 40
    [found] = check(origin("input", 30), module("7"), origin("weights", 61), loss=loss)
    assert (found.where, found.severity) == (("7",), Severity.ERROR)


def test_stays_silent_when_the_batch_was_bad():
    assert not check(origin("input"), origin("weights", 61))
    assert not check(origin("input", 59), module())


def test_stays_silent_when_the_weights_were_bad_before():
    assert not check(origin("weights", 59), module())


def test_stays_silent_when_everything_is_finite():
    assert not check(loss=2.0, nonfinite_activations={"a": 0.0})


def test_says_so_when_the_run_was_not_watched():
    assert isinstance(nonfinite_activation.examine(a_run(loss=2.0)), NotExamined)


def test_sampled_outputs_that_overflowed_under_float16_name_it():
    bad = {"a": 0.0, "b": [0.0] * 60 + [0.5] * 40}
    [found] = check(nonfinite_activations=bad, config={"autocast": "float16"})
    assert "under autocast to float16, which ends at 65,504" in found.message
    assert "bfloat16" in found.try_[0]
    assert not any("learning rate" in each for each in found.try_)
    for config in ({}, {"autocast": "bfloat16"}):
        [other] = check(nonfinite_activations=bad, config=config)
        assert "float16" not in other.message


def test_what_can_only_overflow_is_not_searched_for_a_logarithm():
    outputs = {"2": [1.0] * 30 + [1e25] * 30 + [NAN] * 40}
    [found] = check(module(cls="Linear", operation="Addmm"), activation_max=outputs)
    assert "The largest output was that of `2`, 1e25" in found.try_[0]
    [found] = check(origin("loss", function="mse_loss", loss=math.inf), loss=[2.0] * 60 + [math.inf] * 40)
    assert not any("log, sqrt" in each for each in found.try_)
    [found] = check(module(cls="Head", operation="Log"))
    assert "look at the operation Log: log, sqrt" in found.try_[0]
