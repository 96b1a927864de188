"""(88, 1) minus (88,): the loss compares everybody with everybody.

## Story
The model answers a column, the targets are a row, and subtraction broadcasts them to a square. The best answer to all
targets at once is their mean, so the network learns to answer that, for every patient.

## What to see
A loss that sinks to the variance of the targets and stays; the shapes of answers and targets.

## Source
torch warns about it for MSELoss, but not for a hand-written one.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["broadcast-loss", "loss-at-chance", "stuck-from-start", "underfitting"]],
    fault_check=ends_worse("val/loss", by=0.2),
)
def broadcast_loss(case: Case) -> None:
    task = data.diabetes(case.seed)
    model = models.mlp([10, 32, 1])

    def loss(answers: Tensor, targets: Tensor) -> Tensor:
        if model.training and case.sick:
            return F.mse_loss(answers, targets)
        return F.mse_loss(answers[:, 0], targets)

    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    train(case, model, optimizer, task, steps=150, batch=88, loss=loss)  # after that the twin overfits
