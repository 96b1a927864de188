"""What hypotheses read off a run: each small question, with an answer and without one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from bedside.diagnosis.hypotheses.evidence import (
    alarm,
    is_alarm,
    level_at,
    level_now,
    rate_share,
    shares,
    symptom,
    usual,
)
from bedside.finding import Finding, Severity
from bedside.testing import a_run


def finding(name, severity=Severity.WARNING, **rest):
    return Finding("XYZ101", name, severity, "It is so.", 0.9, 10, 20, **rest)


STALLED, DEAD = finding("stalled-loss", primary=True), finding("dead-layer")
NOTE, PREVIEW = finding("still-falling", Severity.NOTE), finding("heavy-dropout", preview=True)


def test_levels_are_read_at_a_step_and_at_the_end():
    falling = a_run(loss=np.linspace(2.0, 1.0, 101)).loss
    assert level_at(falling, 50) == pytest.approx(1.5, abs=0.02)
    assert level_now(falling) == pytest.approx(1.0, abs=0.05)


def test_what_was_never_read_has_no_level():
    run = a_run(loss=[1.0, 2.0])
    nothing = run.series("val/loss")
    assert math.isnan(level_at(nothing, 5))
    assert math.isnan(level_now(nothing))
    assert math.isnan(rate_share(run, 1))
    assert math.isnan(usual(run, "grad_norm", 0))


def test_the_learning_rate_is_a_share_of_its_peak():
    run = a_run(lr=[0.1, 0.4, 0.2, 0.1])
    assert [rate_share(run, step) for step in (0, 1, 2, 9)] == pytest.approx([0.25, 1.0, 0.5, 0.25])
    assert math.isnan(rate_share(a_run(lr=[0.0, 0.0]), 1))


def test_what_is_usual_is_a_median_between_two_steps_both_included():
    run = a_run(grad_norm=[9.0, 1.0, 2.0, 3.0, 9.0])
    assert usual(run, "grad_norm", 1, 3) == 2.0
    assert usual(run, "grad_norm", 4) == 9.0


def test_only_stable_warnings_and_errors_are_alarms():
    assert is_alarm(DEAD)
    assert not is_alarm(NOTE)
    assert not is_alarm(PREVIEW)
    assert not is_alarm(replace(NOTE, preview=True))


def test_an_alarm_is_found_by_any_of_its_names():
    assert alarm([NOTE, PREVIEW, DEAD], "stalled-loss", "dead-layer") is DEAD
    assert alarm([NOTE, PREVIEW, DEAD], "still-falling", "heavy-dropout") is None


def test_a_symptom_is_the_primary_finding_if_it_has_one_of_the_names():
    run = a_run(loss=[1.0])
    found = symptom(run, [DEAD, STALLED], ["stalled-loss"])
    assert found is not None
    assert (found.finding, found.onset) == (STALLED, 10)
    assert symptom(run, [DEAD, STALLED], ["dead-layer"]) is None
    assert symptom(run, [DEAD], ["dead-layer"]) is None


def test_the_others_are_the_other_alarms():
    found = symptom(a_run(loss=[1.0]), [STALLED, NOTE, DEAD, PREVIEW], ["stalled-loss"])
    assert found is not None
    assert found.others == [DEAD]


def test_shares_are_of_the_largest_gradient_of_all_leaves():
    norms = {"": [9.0] * 4, "front": [1.0, 1.0, 1.0, 8.0], "back": [4.0, 4.0, 4.0, 8.0]}
    assert shares(a_run(grad_norm=norms), 0, 2) == {"front": 0.25, "back": 1.0}
    assert shares(a_run(grad_norm={"": [0.0], "front": [0.0]}), 0, 2) == {"front": 0.0}
