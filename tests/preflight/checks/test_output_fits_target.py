"""When output-fits-target speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from bedside.finding import Finding
from bedside.preflight.check import Passed
from bedside.preflight.checks.output_fits_target import output_fits_target
from bedside.preflight.example_setup import examined


def test_speaks_when_a_column_meets_a_row_in_a_loss_written_by_hand():
    def by_hand(output, target):
        return ((output - target) ** 2).mean()

    found = examined(output_fits_target, lambda: nn.Linear(8, 1), y=torch.randn(96), loss_fn=by_hand)
    assert isinstance(found, Finding)
    assert found.evidence["shapes"][-1] == (16, 16)


def test_speaks_when_the_shapes_raise():
    found = examined(output_fits_target, lambda: nn.Linear(5, 3))
    assert found.message.startswith("The output of the first batch cannot be computed: RuntimeError: mat1 and mat2")


def test_speaks_when_the_loss_has_no_gradient():
    found = examined(output_fits_target, loss_fn=lambda output, target: F.cross_entropy(output.detach(), target))
    assert "The loss has no gradient" in found.message


def test_stays_silent_when_shapes_are_equal_or_one_is_a_scalar():
    squeezed = lambda output, target: F.mse_loss(output.squeeze(1), target)  # noqa: E731
    assert isinstance(
        examined(output_fits_target, lambda: nn.Linear(8, 1), y=torch.randn(96), loss_fn=squeezed), Passed
    )
    scalar = lambda output, batch: F.mse_loss(output, torch.ones(()))  # noqa: E731
    assert isinstance(examined(output_fits_target, lambda: nn.Linear(8, 1), loss_fn=scalar), Passed)
