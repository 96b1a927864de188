"""Residual branches that add up without a norm: activations grow with depth and time.

## Story
Twelve residual blocks whose norms were removed and whose branches are scaled up instead of down. Each block multiplies
the signal, and the head drowns in it.

## What to see
Activations that grow block by block by decades, and keep growing over the run.

## Source
Zhang, Dauphin and Ma (2019), Fixup initialization: residual learning without normalization.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bedside.zoo import data
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


class Residual(nn.Module):
    def __init__(self, strength: float, norm: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(48) if norm else nn.Identity()
        self.up = nn.Linear(48, 48)
        self.strength = strength

    def forward(self, x: Tensor) -> Tensor:
        return x + self.strength * torch.relu(self.up(self.norm(x)))


@specimen(
    kind="MLP",
    expects=[["growing-activations", "exploding-gradient", "oversized-update", "diverging-loss", "loss-spike"]],
    severities={"mild": 3.0, "marked": 5.0, "severe": 8.0},
    fault_check=ends_higher("val/loss", times=2.5),
)
def growing_activations(case: Case) -> None:
    task = data.digits(case.seed)
    strength, norm = (case.severity, False) if case.sick else (0.3, True)
    model = nn.Sequential(nn.Linear(64, 48), *(Residual(strength, norm) for _ in range(12)), nn.Linear(48, 10))
    train(case, model, torch.optim.AdamW(model.parameters(), lr=1e-3), task)
