"""A NaN is born in module 4 at step 150, and after one step everything is NaN.

## Story
A module takes a logarithm and adds a small number first, so that it never sees a zero. Halfway through, that number is
lost (rounded away by a cast, overwritten by a reloaded configuration), and the first zero becomes minus infinity.

## What to see
A good loss curve that ends in NaN from one step to the next; module 4's output is the first one not finite.

## Source
The comparison with other tools (docs/comparison.md), training `nan`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bedside.zoo import data
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate

FAULT = 150


class Logarithm(nn.Module):
    """log(x) of non-negative numbers, kept from zero by a small one."""

    safety = 1e-3

    def forward(self, x: Tensor) -> Tensor:
        return torch.log(torch.relu(x) + self.safety)


@specimen(
    kind="MLP",
    expects=[["nonfinite-loss", "nonfinite-activation", "nonfinite-gradient", "nonfinite-weights"]],
    onset=FAULT,
    fault_check=is_lost,
)
def nan_from_module_four(case: Case) -> None:
    task = data.clusters(case.seed)
    model = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), Logarithm(), nn.Linear(256, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 128)):
            model[4].safety = 0.0 if case.sick and step >= FAULT else 1e-3
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
