"""When label-balance speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.label_balance import label_balance
from bedside.preflight.example_setup import examined


def test_speaks_when_there_is_one_class_only():
    found = examined(label_balance, y=torch.ones(96, dtype=torch.long))
    assert found.severity is Severity.WARNING
    assert "there is nothing to tell apart" in found.message


def test_stays_silent_when_classes_are_mixed():
    found = examined(label_balance)
    assert isinstance(found, Passed)
    assert found.numbers["seen"] == 3


def test_a_regression_is_not_examined():
    found = examined(label_balance, lambda: nn.Linear(8, 1), y=torch.randn(96, 1), loss_fn=nn.MSELoss())
    assert isinstance(found, NotExamined)
