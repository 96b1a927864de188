"""A learning rate of 1 for AdamW: a thousand times the usual.

## Story
Adam's steps are about as long as the learning rate, whatever the gradient. With a learning rate of 1 every weight is
replaced by something of size 1 in the first step.

## What to see
The first loss is near chance, the second is in the hundreds; the relative update of the first steps is near 1.

## Source
The comparison with other tools (docs/comparison.md), training `lr_high`.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["oversized-update", "diverging-loss", "exploding-gradient"]],
    severities={"mild": 0.3, "marked": 1.0, "severe": 10.0},
    fault_check=ends_worse("val/accuracy", by=0.15),
)
def rate_one(case: Case) -> None:
    task = data.clusters(case.seed)
    model = models.four_layers()
    rate = case.severity if case.sick else 1e-3
    train(case, model, torch.optim.AdamW(model.parameters(), lr=rate), task, batch=128)
