"""A softmax in the model, and another in the loss.

## Story
The last layer is a softmax, and `cross_entropy` applies its own. Answers between 0 and 1 differ by 1 at most, so the
second softmax can never be sure: for ten classes the loss cannot fall below 1.461.

## What to see
A loss that flattens near 1.46 while the accuracy is good; small gradients.

## Source
The survey's row on architecture lint; the issue's list.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="conv net",
    expects=[["mismatched-loss", "stalled-loss", "underfitting", "loss-without-accuracy"]],
    fault_check=ends_higher("val/loss", times=3),
)
def double_softmax(case: Case) -> None:
    task = data.images(case.seed)
    last = nn.Softmax(1) if case.sick else nn.Identity()
    model = nn.Sequential(models.ConvNet(), last)
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=300)
