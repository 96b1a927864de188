"""When finite-loss speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding
from bedside.preflight.check import Passed
from bedside.preflight.checks.finite_loss import finite_loss
from bedside.preflight.example_setup import examined


def test_speaks_when_a_gradient_is_infinite_and_the_loss_is_not():
    def rooted(output, target):
        return torch.sqrt((0 * output).square()).mean() + nn.functional.cross_entropy(output, target)

    found = examined(finite_loss, loss_fn=rooted)
    assert isinstance(found, Finding)
    assert found.where == ("0.weight", "0.bias", "2.weight", "2.bias")


def test_stays_silent_on_large_and_finite_losses():
    assert isinstance(
        examined(finite_loss, loss_fn=lambda o, target: 1e20 * nn.functional.cross_entropy(o, target)), Passed
    )
