"""When memory-forecast speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.preflight.check import Passed
from bedside.preflight.checks.memory_forecast import memory_forecast
from bedside.preflight.example_setup import a_model, examined, seeded


def test_speaks_of_weights_gradients_and_moments():
    found = examined(memory_forecast, lambda: nn.Linear(8, 3, bias=False))
    assert isinstance(found, Passed)
    size = 24 * 4
    assert found.numbers["weights_bytes"] == found.numbers["gradients_bytes"] == size
    assert found.numbers["optimizer_bytes"] == 2 * size + 4  # two moments and a step counter
    assert found.numbers["total_bytes"] > 4 * size


def test_is_not_changed_by_frozen_weights_or_a_missing_optimizer():
    model = seeded(a_model)
    model[0].requires_grad_(False)
    found = examined(memory_forecast, model, optimizer=None)
    assert found.numbers["optimizer_bytes"] == 0
    assert found.numbers["gradients_bytes"] == (32 * 3 + 3) * 4
    assert torch.is_tensor(model[0].weight)
