"""zero_grad was forgotten: every step follows the sum of all gradients so far.

## Story
Without `zero_grad`, `backward` adds to what is there. The step points along a sum in which the past outweighs the
present, so the weights overshoot, turn late and overshoot again.

## What to see
The gradient norm grows although the loss does not; the loss rises and falls in long waves.

## Source
The comparison with other tools (docs/comparison.md), training `no_zero_grad`.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["accumulating-gradient"]],
    severities={"mild": 30, "marked": 100, "severe": 1000},
    fault_check=ends_worse("val/accuracy", by=0.02),
)
def no_zero_grad(case: Case) -> None:
    task = data.clusters(case.seed)
    model = models.four_layers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 128)):
            clear_every = case.severity if case.sick else 1
            if step % clear_every == 0:
                optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
