"""A bottleneck of one unit: the network cannot hold what it should learn.

## Story
The hidden layer has a single unit (a width read from the wrong line of the configuration). Ten digits on one number
line cannot be separated, however long one trains.

## What to see
Training and validation loss flatten early, together, far above where they should be.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 5.2: capacity, overfitting and underfitting.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["underfitting", "stalled-loss"]],
    severities={"mild": 2, "marked": 1},
    fault_check=ends_worse("val/accuracy", by=0.2),
)
def underfitting(case: Case) -> None:
    task = data.digits(case.seed)
    width = case.severity if case.sick else 64
    model = models.mlp([64, width, 10], nn.Tanh)
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-2), task, steps=600)
