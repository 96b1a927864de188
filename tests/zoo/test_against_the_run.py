"""Advice without its precondition and numbers that no reading bears out are noticed, and sound reports pass."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.finding import Diagnosis, Finding, Severity
from bedside.record.run import Event
from bedside.testing import a_run
from bedside.zoo.against_the_run import against_the_run

LOSS = np.linspace(2.0, 1.0, 100)
RELU = [Event(0, "nonlinearities", {"1": "relu"})]
SIGMOID = [Event(0, "nonlinearities", {"1": "sigmoid"})]


def said(message="Bad.", *advice):
    bad = Finding("AAA101", "a", Severity.ERROR, message, 0.9, 0, 9, series=("loss",), try_=advice, primary=True)
    return Diagnosis("run", "bedside", 100, "sick", (bad,), (), reason="Bad.")


@pytest.mark.parametrize(
    ("advice", "without", "with_it"),
    [
        ("Lower the learning rate from 0.5 to about 0.05.", {"lr": 0.1}, {"lr": 0.5}),
        ("Train longer, with the schedule stretched to 9 steps.", {"lr": 0.1}, {"lr": np.linspace(0.1, 0.01, 100)}),
        ("Clip the gradient norm: clip_grad_norm_(model.parameters(), 1).", {"clip_threshold": 1.0}, {"lr": 0.1}),
        ("Replace sigmoid or tanh in `1` by ReLU or GELU.", {"events": RELU}, {"events": SIGMOID}),
        ("Start its bias at 0; GELU instead of ReLU.", {"events": SIGMOID}, {"events": RELU}),
    ],
)
def test_advice_without_its_precondition_is_noticed(advice, without, with_it):
    assert len(against_the_run(said("Bad.", advice), a_run(loss=LOSS, **without))) == 1
    assert against_the_run(said("Bad.", advice), a_run(loss=LOSS, **with_it)) == []


@pytest.mark.parametrize(("number", "wrong"), [("1.51", False), ("1.8", True)])
def test_a_number_that_no_reading_near_its_step_bears_out_is_noticed(number, wrong):
    report = said(f"It went up ({number} at step 49).")
    assert bool(against_the_run(report, a_run(loss=LOSS))) is wrong
