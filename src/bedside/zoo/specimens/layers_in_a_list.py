"""Layers in a plain Python list: nobody knows that they exist.

## Story
`self.layers = [...]` instead of `nn.ModuleList([...])`. The layers take part in the forward pass and in nothing else:
not in `parameters()`, so no optimizer moves them; not in `state_dict()`, so no checkpoint keeps them.

## What to see
Fewer parameters than were built; a loss that falls less far than it should.

## Source
Every introduction to torch has it among the first mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from bedside.zoo import data
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


class Listed(nn.Module):
    def __init__(self, container: Callable[[list[nn.Module]], Iterable[nn.Module]]) -> None:
        super().__init__()
        self.layers = container([nn.Linear(64, 48), nn.Linear(48, 48), nn.Linear(48, 48)])
        self.head = nn.Linear(48, 10)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


@specimen(
    kind="MLP",
    expects=[["uncovered-parameter", "silent-parameter", "unmoved-parameter", "underfitting", "stalled-loss"]],
    fault_check=ends_worse("val/accuracy", by=0.05),
)
def layers_in_a_list(case: Case) -> None:
    task = data.digits(case.seed)
    model = Listed(list if case.sick else nn.ModuleList)
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-3), task)
