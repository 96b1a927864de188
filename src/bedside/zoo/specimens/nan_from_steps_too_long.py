"""A learning rate far too high, until the numbers run out.

## Story
Mean squared error, plain SGD, and a learning rate a few times beyond what the data allow. Every step overshoots by more
than the last; after some dozens of steps float32 overflows.

## What to see
A loss that grows by a constant factor per step, for as long as there are numbers, then infinity and NaN.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 8.2.4: cliffs and exploding gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo import data
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="linear",
    expects=[["diverging-loss", "oversized-update", "exploding-gradient", "nonfinite-loss"]],
    severities={"mild": 1.3, "marked": 2.0, "severe": 10.0},
    fault_check=is_lost,
)
def nan_from_steps_too_long(case: Case) -> None:
    task = data.diabetes(case.seed)
    model = nn.Linear(10, 1)
    rate = case.severity if case.sick else 0.05

    def loss(answers: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(answers[:, 0], targets)

    train(case, model, torch.optim.SGD(model.parameters(), lr=rate), task, batch=88, loss=loss)
