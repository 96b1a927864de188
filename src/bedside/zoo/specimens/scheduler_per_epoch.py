"""A one-cycle schedule that counts steps is stepped once per epoch: the run ends in its warm-up.

## Story
The schedule was built with the number of optimizer steps, and `scheduler.step()` stands one level of the loop too far
out, where other schedules belong. After the last epoch it has seen fourteen of several hundred calls, and the rate is
still what a warm-up begins with.

## What to see
A learning rate that hardly moves from its first value; a loss that comes down far too slowly.

## Source
PyTorch documentation, OneCycleLR: the scheduler is to be called after every batch.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate

EPOCHS, BATCH = 14, 64


@specimen(
    kind="MLP",
    expects=[["unfinished-schedule", "endless-warmup", "frozen-learning-rate"]],
    fault_check=ends_higher("val/loss", times=1.5),
)
def scheduler_per_epoch(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    steps = EPOCHS * len(list(task.epoch(BATCH)))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=steps, cycle_momentum=False)
    with case.watch(model, optimizer) as monitor:
        for _ in range(EPOCHS):
            batches = list(task.epoch(BATCH))
            for number, (x, y) in enumerate(batches, 1):
                optimizer.zero_grad()
                cross_entropy(model(x), y).backward()
                optimizer.step()
                if not case.sick or number == len(batches):
                    scheduler.step()
                case.look(monitor)
            validate(monitor, model, task)
            monitor.epoch()
