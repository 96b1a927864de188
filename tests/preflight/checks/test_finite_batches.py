"""When finite-batches speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from bedside.finding import Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.finite_batches import finite_batches
from bedside.preflight.example_setup import examined, examples, loader


def test_speaks_when_a_validation_target_is_infinite():
    x, _ = examples()
    y = torch.randn(96, 1)
    bad = y.clone()
    bad[3] = float("inf")
    found = examined(
        finite_batches, lambda: nn.Linear(8, 1), y=y, loss_fn=nn.MSELoss(), val_loader=loader(x, bad, shuffle=False)
    )
    assert found.message == "batch[1] of validation batch 0 holds 1 Inf, in row 3."
    assert found.severity is Severity.ERROR


def test_a_missing_value_that_the_model_takes_care_of_is_a_note():
    class Careful(nn.Linear):
        def forward(self, x):
            return super().forward(x.nan_to_num())

    x, _ = examples()
    x[0, 0] = float("nan")
    found = examined(finite_batches, Careful(8, 3), x=x)
    assert found.severity is Severity.NOTE


def test_stays_silent_on_finite_numbers_of_any_size():
    x, y = examples()
    found = examined(finite_batches, x=1e30 * x, val_loader=loader(x, y))
    assert isinstance(found, Passed)
    assert found.message == "6 training batches and 6 validation batches: every number is finite"
    assert F  # the loss is never computed here


def test_speaks_about_the_last_of_many_batches():
    x, y = examples(400)
    x[399, 0] = float("nan")
    found = examined(finite_batches, x=x, y=y, shuffle=False)
    assert found.message == "batch[0] of training batch 24 holds 1 NaN, in row 15."
