"""`scheduler.step()` comes before `optimizer.step()`: the first learning rate is never used.

## Story
The two lines stand in the wrong order. With a OneCycle or a step schedule each change comes one step early, and the
first value is skipped. torch warns once, in a place where nobody looks.

## What to see
Nothing on any curve: the order of the calls is the only sign.

## Source
torch's own warning since 1.1; the issue's "schedule errors".
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["scheduler-before-optimizer"]],
    fault_check=lambda sick, twin: sick.series("lr").values[0] != twin.series("lr").values[0],
)
def scheduler_before_optimizer(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            for part in (scheduler, optimizer) if case.sick else (optimizer, scheduler):
                part.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
