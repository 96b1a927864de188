"""`.detach()` in the middle: the backbone gets no gradient at all.

## Story
A line from a debugging session was left in: the features are detached before they reach the head. The head learns on
random features, and the loss falls as if all were well.

## What to see
No gradient, ever, for everything in front of the cut, although those weights are trainable.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: missing gradient flow; PyTorch
documentation, Tensor.detach.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


class TwoParts(nn.Module):
    def __init__(self, hand_over: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.hand_over = hand_over
        self.backbone = models.mlp([64, 64, 32])
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.hand_over(torch.relu(self.backbone(x))))


@specimen(
    kind="MLP",
    expects=[["silent-parameter"]],
    fault_check=ends_worse("val/accuracy", by=0.02),
)
def detached_backbone(case: Case) -> None:
    task = data.digits(case.seed)
    model = TwoParts(torch.detach if case.sick else torch.clone)
    train(case, model, torch.optim.Adam(model.parameters(), lr=3e-3), task)
