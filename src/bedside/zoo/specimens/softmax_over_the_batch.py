"""A softmax over the samples of a batch instead of the features: every answer depends on its neighbours.

## Story
`softmax(dim=0)` in a gate that should weigh the features of one sample. Batches are always alike, so training goes on;
the same picture gets another answer in other company.

## What to see
Answers to samples that stayed the same change when others of the batch are exchanged; held-out data, which come in one
large batch, do worse.

## Source
Karpathy (2019), A recipe for training neural networks: use backprop to chart dependencies.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bedside.zoo import data
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


class Gated(nn.Module):
    """Hidden units that are weighed by a softmax before the head."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.first, self.gate, self.head, self.dim = nn.Linear(64, 48), nn.Linear(64, 48), nn.Linear(48, 10), dim

    def forward(self, x: Tensor) -> Tensor:
        weights = self.gate(x).softmax(self.dim)
        return self.head(48 * weights * torch.tanh(self.first(x)))


@specimen(
    kind="MLP",
    expects=[["mixed-samples"]],
    fault_check=ends_higher("val/loss", times=1.5),
)
def softmax_over_the_batch(case: Case) -> None:
    task = data.digits(case.seed)
    model = Gated(dim=0 if case.sick else -1)
    train(case, model, torch.optim.Adam(model.parameters(), lr=3e-3), task, steps=260)
