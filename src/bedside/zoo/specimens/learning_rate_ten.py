"""Learning rate 10: every step jumps over the valley.

## Story
A digits MLP that trains well at a learning rate of 0.1 is given a
hundred times as much. The first step lands on the far slope, where the gradient is larger, so the next step is larger
still, until every unit is dead or the numbers are absurd.

## What to see
The loss leaves within a few steps and does not come back; the first relative updates are near 1.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 11.4: the learning rate is the hyperparameter to tune
first.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["oversized-update", "diverging-loss", "exploding-gradient", "nonfinite-loss"]],
    severities={"mild": 3.0, "marked": 10.0, "severe": 100.0},
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def learning_rate_ten(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    rate = case.severity if case.sick else 0.1
    train(case, model, torch.optim.SGD(model.parameters(), lr=rate), task)
