from __future__ import annotations

import math

import numpy as np

from bedside.finding import NotExamined, Severity
from bedside.rules.nonfinite_loss import nonfinite_loss
from bedside.testing import a_run

NAN = math.nan


def test_speaks_when_the_loss_turns_nan_and_stays():
    (finding,) = nonfinite_loss.check(a_run(loss=[3, 2, 1, NAN, NAN, NAN], lr=3e-3))
    assert finding.severity == Severity.ERROR
    assert (finding.first_step, finding.last_step) == (3, 5)
    assert finding.evidence["last_finite"] == 1
    assert "from 0.003 to about 3e-4" in finding.try_[0]


def test_speaks_when_only_the_last_reading_is_infinite():
    (finding,) = nonfinite_loss.check(a_run(loss=[3, 2, 9e9, math.inf]))
    assert finding.severity == Severity.ERROR
    assert "inf since step 3" in finding.message


def test_suspects_an_operation_when_it_was_nan_from_the_start():
    (finding,) = nonfinite_loss.check(a_run(loss=[NAN] * 10))
    assert "never finite" in finding.message
    assert "operation" in finding.try_[0]


def test_only_notes_a_nan_that_came_back():
    (finding,) = nonfinite_loss.check(a_run(loss=[3, 2, NAN, 1, 1, 1, 1]))
    assert finding.severity == Severity.NOTE


def test_stays_silent_on_steps_the_scaler_skipped():
    skipped = np.zeros(7)
    skipped[2] = 1
    assert nonfinite_loss.check(a_run(loss=[3, 2, NAN, 1, 1, 1, 1], skipped=skipped)) == []


def test_stays_silent_on_finite_losses_of_any_sign():
    assert nonfinite_loss.check(a_run(loss=[0.0, -1.0, 5.0, 0.0], val_loss=[1.0, -3.0])) == []


def test_judges_the_validation_loss_of_a_log_without_training_loss():
    (finding,) = nonfinite_loss.check(a_run(steps=100, val_loss=[3, 2, NAN, NAN]))
    assert finding.severity == Severity.ERROR
    assert finding.message.startswith("The val/loss is NaN")


def test_only_warns_when_training_goes_on_while_one_validation_set_is_nan():
    run = a_run(loss=np.linspace(3, 1, 100), val_loss={"empty": [NAN] * 4, "full": [3, 2, 1, 1]})
    (finding,) = nonfinite_loss.check(run)
    assert finding.severity == Severity.WARNING
    assert "val/loss/empty" in finding.series


def test_sees_through_zeros_that_a_trainer_wrote_for_nan():
    loss = [2.0, 1.8, 1.7, 0.0, 0.0, 0.0, 0.0]
    norms = [1.0, 1.0, 1.0, NAN, NAN, NAN, NAN]
    (finding,) = nonfinite_loss.check(a_run(loss=loss, grad_norm=norms))
    assert finding.first_step == 3


def test_a_loss_that_is_zero_with_finite_gradients_is_not_nan():
    assert nonfinite_loss.check(a_run(loss=[2.0, 1.0, 0.0, 0.0, 0.0], grad_norm=[1.0, 1.0, 0.0, 0.0, 0.0])) == []


def test_is_not_examined_without_any_loss():
    assert isinstance(nonfinite_loss.examine(a_run(lr=0.1)), NotExamined)


def test_judges_the_parts_of_a_loss_without_a_total():
    parts = {"part/d_loss": [0.7] * 6 + [math.nan] * 4, "part/g_loss": [1.2] * 6 + [math.nan] * 4}
    (finding,) = nonfinite_loss.check(a_run(**parts))
    assert finding.message.startswith("The d_loss is NaN since step 6")
    assert nonfinite_loss.check(a_run(loss=[1.0] * 10, **parts)) == []
