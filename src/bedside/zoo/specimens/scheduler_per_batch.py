"""A schedule meant per epoch is stepped per batch: the learning rate is gone in no time.

## Story
`ExponentialLR(gamma=0.9)`, right for thirty epochs, is stepped after every batch. Two hundred batches later a billionth
of the learning rate is left.

## What to see
The learning rate falls by decades within the first epochs; loss and updates freeze behind it.

## Source
PyTorch documentation, How to adjust learning rate: step a scheduler per epoch or per batch, as it was built.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_lower
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="conv net",
    expects=[["scheduler-per-batch", "vanished-learning-rate", "schedule-ended-early", "undersized-update"]],
    fault_check=ends_lower("lr", times=1e-4),
)
def scheduler_per_batch(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(330, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if case.sick or step % 22 == 21:
                scheduler.step()
            if step % 22 == 21:
                monitor.epoch()
                validate(monitor, model, task)
            case.look(monitor)
