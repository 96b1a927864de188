"""One batch a thousand times too large, at step 200.

## Story
One file was never divided by 255, or a sensor was saturated. The gradient of that batch is orders of magnitude larger
than any other, and with nothing to hold it back one step undoes part of what was learned.

## What to see
A single spike in the loss and in the gradient norm at the same step, with an input range to match.

## Source
The comparison with other tools (docs/comparison.md), training `bad_batch`.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate

FAULT = 200


@specimen(
    kind="MLP",
    expects=[["loss-spike", "bad-batch", "extreme-input"]],
    severities={"mild": 30.0, "marked": 100.0, "severe": 1000.0},
    onset=FAULT,
    fault_check=lambda sick, twin: float(sick.loss.values[FAULT]) > 5 * float(twin.loss.values[FAULT]),
)
def bad_batch(case: Case) -> None:
    task = data.clusters(case.seed)
    model = models.four_layers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 128)):
            x = x * case.severity if case.sick and step == FAULT else x
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
