import math

import numpy as np

from bedside.finding import Severity
from bedside.rules.nonfinite_gradient import nonfinite_gradient
from bedside.testing import a_run

NAN, INF = math.nan, math.inf


def test_speaks_when_the_gradient_is_nan_to_the_end():
    [found] = nonfinite_gradient.check(a_run(loss=[2.0] * 80 + [NAN] * 20, grad_norm=[1.0] * 80 + [NAN] * 20))
    assert (found.severity, found.first_step, found.last_step) == (Severity.ERROR, 80, 99)
    assert "from step 80 to the end" in found.message


def test_recommends_the_learning_rate_first_when_the_gradient_grew_before_it_overflowed():
    norms = [1.0] * 80 + [1e3, 1e9, 1e19] + [INF] * 3
    [found] = nonfinite_gradient.check(a_run(loss=2.0, lr=0.5, grad_norm=norms))
    assert found.try_[0] == "Lower the learning rate from 0.5 to about 0.05."
    assert "clip_grad_norm_(model.parameters(), 1)" in found.try_[1]


def test_names_the_modules_in_front_of_the_place_where_it_was_born():
    bad = [1.0] * 50 + [NAN] * 50
    run = a_run(loss=2.0, grad_norm={"": bad, "embed": bad, "body.0": bad, "head": 1.0})
    [found] = nonfinite_gradient.check(run)
    assert found.where == ("embed", "body")


def test_names_the_module_whose_weights_were_bad_a_step_earlier():
    bad = [1.0] * 50 + [NAN] * 50
    weights = [1.0] * 49 + [NAN] * 51
    run = a_run(
        loss=bad, grad_norm={"": bad, "front": bad, "back": bad}, param_norm={"front": 3.0, "back": weights}
    )  # fmt: skip
    [found] = nonfinite_gradient.check(run)
    assert found.where == ("back",)


def test_stays_silent_when_a_finite_gradient_follows_because_the_step_was_skipped():
    norms = np.ones(200)
    norms[[0, 1, 2, 3, 60, 150]] = INF
    assert not nonfinite_gradient.check(a_run(loss=2.0, grad_norm=norms))


def test_stays_silent_when_the_last_steps_were_skipped():
    run = a_run(loss=2.0, grad_norm=[1.0] * 98 + [INF] * 2, skipped=[0.0] * 98 + [1.0] * 2)
    assert not nonfinite_gradient.check(run)


def test_stays_silent_when_a_log_under_loss_scaling_ends_on_an_overflow():
    assert not nonfinite_gradient.check(a_run(loss=2.0, loss_scale=65536.0, grad_norm=[1.0] * 99 + [INF]))


def test_speaks_with_less_confidence_when_only_the_last_reading_is_infinite():
    [found] = nonfinite_gradient.check(a_run(loss=2.0, grad_norm=[1.0] * 99 + [INF]))
    assert found.confidence < 0.9
    assert "the last one recorded" in found.message


def test_warns_when_a_large_share_of_the_steps_is_thrown_away():
    norms = np.ones(200)
    norms[::3] = INF
    [found] = nonfinite_gradient.check(a_run(loss=2.0, grad_norm=norms))
    assert found.severity == Severity.WARNING
    assert "34 %" in found.message or "33 %" in found.message


def test_speaks_when_a_twentieth_of_the_steps_is_thrown_away_to_the_end():
    norms = np.where(np.arange(400) % 16 == 9, INF, 1.0)
    [found] = nonfinite_gradient.check(a_run(loss=2.0, grad_norm=norms))
    assert found.severity == Severity.WARNING


def test_stays_silent_when_a_scaler_looks_for_its_scale_only_at_first():
    norms = np.ones(400)
    norms[:30] = INF
    norms[200] = INF
    assert nonfinite_gradient.check(a_run(loss=2.0, grad_norm=norms)) == []
