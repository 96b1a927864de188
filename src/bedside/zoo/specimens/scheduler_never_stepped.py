"""The scheduler is there, and nobody steps it: the run stays at the first warm-up rate.

## Story
A warm-up from a thousandth of the learning rate is built, and `scheduler.step()` is missing from the loop. The learning
rate never leaves its first value.

## What to see
A constant, tiny learning rate; a loss that hardly moves.

## Source
The issue's "schedule errors"; DESIGN, frozen-learning-rate.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="encoder",
    expects=[["frozen-learning-rate", "undersized-update", "stuck-from-start", "vanished-learning-rate"]],
    fault_check=ends_worse("val/accuracy", by=0.2),
)
def scheduler_never_stepped(case: Case) -> None:
    task = data.images(case.seed)
    model = models.Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1e-3, total_iters=30)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(240, 32)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if not case.sick:
                scheduler.step()
            if step % 12 == 11:
                validate(monitor, model, task)
            case.look(monitor)
