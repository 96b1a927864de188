"""When frozen-parameters speaks and when it stays silent."""

from __future__ import annotations

from torch import nn

from bedside.finding import Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.frozen_parameters import frozen_parameters
from bedside.preflight.example_setup import a_model, examined, seeded


def test_speaks_when_everything_is_frozen():
    found = examined(frozen_parameters, nn.Linear(8, 3).requires_grad_(False), optimizer=None)
    assert found.severity is Severity.ERROR


def test_a_frozen_part_is_a_note():
    model = seeded(a_model)
    model[0].requires_grad_(False)
    found = examined(frozen_parameters, model)
    assert found.severity is Severity.NOTE
    assert found.where == ("0",)


def test_stays_silent_when_nothing_is_frozen():
    assert isinstance(examined(frozen_parameters), Passed)
