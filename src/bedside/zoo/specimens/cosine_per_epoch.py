"""A cosine that is stepped once an epoch and ends at its floor, as most vision scripts have it.

## Story
`scheduler.step()` at the end of each epoch, `T_max` epochs in all, a floor that is not zero. The rate is a staircase
that ends on its lowest step.

## What to see
A learning rate with as many values as epochs; the last one is the lowest, and it never comes back up.

## Source
Loshchilov and Hutter (2017), SGDR: stochastic gradient descent with warm restarts.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, validate

EPOCHS = 14


@lookalike(kind="conv net")
def cosine_per_epoch(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS, eta_min=1e-3)
    with case.watch(model, optimizer) as monitor:
        for _ in range(EPOCHS):
            for x, y in task.epoch(64):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
                case.look(monitor)
            scheduler.step()
            validate(monitor, model, task)
            monitor.epoch()
