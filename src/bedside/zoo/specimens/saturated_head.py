"""A sigmoid head that starts saturated, under squared error: the gradient is gone before it begins.

## Story
The last layer was initialised a hundred times too large, so that every sigmoid begins at 0 or 1. Squared error
multiplies by the sigmoid's slope, which is zero there: answers are wrong, and nothing says so.

## What to see
A loss that hardly moves far from its minimum, with a gradient norm near zero.

## Source
The four gradient regimes; Glorot and Bengio (2010) on saturation.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["faded-gradient", "saturated-units", "stuck-from-start", "vanishing-gradient", "undersized-update"]],
    severities={"mild": 100.0, "marked": 200.0, "severe": 500.0},
    fault_check=ends_worse("val/loss", by=0.05),
)
def saturated_head(case: Case) -> None:
    task = data.digits(case.seed)
    model = nn.Sequential(*models.mlp([64, 64, 10]), nn.Sigmoid())
    gain = case.severity if case.sick else 1.0
    with torch.no_grad():
        model[2].weight *= gain

    def loss(answers: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(answers, F.one_hot(targets, 10).float())

    train(case, model, torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9), task, loss=loss)
