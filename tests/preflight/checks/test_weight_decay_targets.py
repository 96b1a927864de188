"""When weight-decay-targets speaks and when it stays silent."""

from __future__ import annotations

import torch

from bedside.finding import Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.weight_decay_targets import weight_decay_targets
from bedside.preflight.example_setup import examined


def test_speaks_in_a_note_when_biases_decay():
    found = examined(
        weight_decay_targets, optimizer=lambda m: torch.optim.SGD(m.parameters(), lr=0.1, weight_decay=0.5)
    )
    assert found.severity is Severity.NOTE
    assert found.where == ("0.bias", "2.bias")


def test_stays_silent_with_two_groups_and_without_decay():
    def groups(model):
        matrices = [p for p in model.parameters() if p.ndim > 1]
        others = {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0}
        return torch.optim.AdamW([{"params": matrices}, others], lr=1e-3)

    assert isinstance(examined(weight_decay_targets, optimizer=groups), Passed)
    assert isinstance(examined(weight_decay_targets, optimizer=lambda m: torch.optim.Adam(m.parameters())), Passed)
