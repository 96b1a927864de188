import math

from bedside.record.run import Event
from bedside.rules.nonfinite_weights import nonfinite_weights
from bedside.testing import a_run

BAD = [0.0] * 60 + [8.0] * 40


def test_speaks_when_weights_are_bad_to_the_end():
    [found] = nonfinite_weights.check(a_run(loss=[2.0] * 100, nonfinite_params=BAD))
    assert found.first_step == 60
    assert "8 parameter tensors hold" in found.message


def test_says_when_the_gradient_of_that_step_was_finite():
    run = a_run(loss=2.0, nonfinite_params=BAD, nonfinite_grads=0.0, grad_norm=1.0)
    [found] = nonfinite_weights.check(run)
    assert "although the gradient of that step was finite" in found.message
    assert "eps" in found.try_[1]


def test_names_the_module_that_went_first():
    norms = {"front": 3.0, "head": [1.0] * 60 + [math.nan] * 40}
    [found] = nonfinite_weights.check(a_run(loss=2.0, nonfinite_params=BAD, param_norm=norms))
    assert found.where == ("head",)


def test_stays_silent_when_all_weights_are_finite():
    assert not nonfinite_weights.check(a_run(loss=[2.0] * 100, nonfinite_params=0.0))


def test_stays_silent_when_the_weights_were_restored():
    assert not nonfinite_weights.check(a_run(loss=[2.0] * 100, nonfinite_params=[0] * 40 + [3] * 5 + [0] * 55))


def test_speaks_of_buffers_by_name_when_the_weights_are_finite():
    bad = Event(60, "nonfinite_buffers", {"names": ["norm.running_mean", "norm.running_var"]})
    [found] = nonfinite_weights.check(a_run(loss=[2.0] * 100, nonfinite_params=0, events=[bad]))
    assert found.where == ("norm",)
    assert "`norm.running_mean`" in found.message
    assert found.first_step == 60


def test_stays_silent_about_buffers_when_the_weights_themselves_are_bad():
    bad = Event(60, "nonfinite_buffers", {"names": ["norm.running_mean"]})
    run = a_run(loss=[2.0] * 100, nonfinite_params=[0] * 60 + [8] * 40, events=[bad])
    [found] = nonfinite_weights.check(run)
    assert "parameter tensors" in found.message
