"""A warm-up longer than the run: full speed is never reached.

## Story
The warm-up was given in steps of another batch size. The run ends while the learning rate is still rising.

## What to see
A learning rate that rises to the last step; a loss that has only just begun to fall.

## Source
Goyal et al. (2017), Accurate, large minibatch SGD: a warm-up takes a few epochs of many.
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
    expects=[["endless-warmup", "undersized-update", "stuck-from-start"]],
    severities={"mild": 5, "marked": 20, "severe": 100},
    fault_check=ends_worse("val/loss", by=0.1),
)
def endless_warmup(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warmup = STEPS * case.severity if case.sick else STEPS // 10
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
    train(case, model, optimizer, task, steps=STEPS, batch=12, scheduler=scheduler, max_steps=STEPS)
