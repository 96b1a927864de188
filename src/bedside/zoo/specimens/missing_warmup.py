"""A GPT without warm-up: the first steps wreck the attention.

## Story
At the learning rate that serves it well later on, the untrained transformer is thrown far away by its first hundred
steps, because Adam's averages know nothing yet. A linear warm-up over fifty steps is all it takes.

## What to see
A loss that jumps up within the first steps and comes down late or never; relative updates are largest at the start.

## Source
Xiong et al. (2020), On layer normalization in the transformer architecture.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train

STEPS = 300


@specimen(
    kind="GPT",
    expects=[["missing-warmup", "oversized-update", "diverging-loss", "loss-spike", "stalled-loss"]],
    severities={"mild": 0.03, "marked": 0.06, "severe": 0.15},
    fault_check=ends_worse("val/loss", by=0.2),
)
def missing_warmup(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT()
    rate, warmup = (case.severity, 1) if case.sick else (0.01, 50)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
    train(case, model, optimizer, task, steps=STEPS, batch=12, scheduler=scheduler)
