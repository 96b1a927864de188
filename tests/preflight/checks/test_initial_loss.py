"""When initial-loss speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.initial_loss import initial_loss
from bedside.preflight.example_setup import examined


def test_speaks_when_the_targets_of_a_regression_are_far_away():
    found = examined(initial_loss, lambda: nn.Linear(8, 1), y=200 + torch.randn(96, 1), loss_fn=nn.MSELoss())
    assert isinstance(found, Finding)
    assert "the variance of the targets" in found.message
    assert found.try_[0].startswith("Standardise the targets: (y - 200) / ")


def test_stays_silent_on_an_ordinary_start():
    found = examined(initial_loss)
    assert isinstance(found, Passed)
    assert abs(found.numbers["loss"] - 1.1) < 0.3
    assert found.numbers["label_entropy"] < 1.1
    assert isinstance(
        examined(initial_loss, lambda: nn.Linear(8, 1), y=torch.randn(96, 1), loss_fn=nn.MSELoss()), Passed
    )


def test_weighted_and_summed_losses_are_not_examined():
    assert isinstance(examined(initial_loss, loss_fn=nn.CrossEntropyLoss(reduction="sum")), NotExamined)
    assert isinstance(examined(initial_loss, loss_fn=nn.CrossEntropyLoss(weight=torch.ones(3))), NotExamined)
