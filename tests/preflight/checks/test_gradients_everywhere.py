"""When gradients-everywhere speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding
from bedside.preflight.check import Passed
from bedside.preflight.checks.gradients_everywhere import gradients_everywhere
from bedside.preflight.example_setup import examined


class LowRank(nn.Module):
    """As LoRA begins: one factor is zero, so that the other has no gradient yet."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(8, 4, bias=False), nn.Linear(4, 3)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.up(self.down(x))


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x):
        return self.used(x)


def test_speaks_when_a_layer_is_dead():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    nn.init.constant_(model[0].bias, -100.0)
    found = examined(gradients_everywhere, model)
    assert isinstance(found, Finding)
    assert found.where == ("0.weight", "2.weight")


def test_speaks_when_a_layer_is_never_called():
    assert examined(gradients_everywhere, Unused).where == ("unused.weight", "unused.bias")


def test_stays_silent_when_a_factor_begins_at_zero():
    assert isinstance(examined(gradients_everywhere, LowRank), Passed)


def test_stays_silent_when_the_unused_part_is_in_no_optimizer():
    found = examined(gradients_everywhere, Unused, optimizer=lambda m: torch.optim.SGD(m.used.parameters(), lr=0.1))
    assert isinstance(found, Passed)
