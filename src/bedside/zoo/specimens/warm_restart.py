"""Warm restarts: the loss jumps each time the learning rate starts over, on purpose.

## Story
A cosine schedule with restarts. At each restart the learning rate goes from nearly zero to its maximum, the loss jumps
up, and ends lower than before.

## What to see
Saw-teeth in the loss, each at a restart of the learning rate.

## Source
Loshchilov and Hutter (2017), SGDR.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="conv net")
def warm_restart(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=100, eta_min=1e-4)
    train(case, model, optimizer, task, steps=400, batch=32, scheduler=scheduler)
