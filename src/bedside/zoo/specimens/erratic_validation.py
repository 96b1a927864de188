"""Validation on eight examples: the curve leaps, and every conclusion from it is luck.

## Story
To save time each evaluation draws a handful of examples. One hard picture among eight moves the loss by a factor; the
best checkpoint is the luckiest one.

## What to see
A validation loss that leaps by factors from one evaluation to the next, over a training loss that falls smoothly.

## Source
The corpus' evaluations that swing over a decade around a smooth training loss.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.record.run import Run
from bedside.zoo import data, models
from bedside.zoo.loop import cross_entropy, validate
from bedside.zoo.specimen import Case, specimen


@specimen(
    kind="conv net",
    expects=[["erratic-validation"]],
    doses={"mild": 16, "marked": 8, "severe": 4},
    harm=lambda sick, twin: spread(sick) > 1.5 * spread(twin),
)
def erratic_validation(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    size = case.dose if case.sick else len(task.x_val)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                few = torch.randperm(len(task.x_val))[:size]
                validate(monitor, model, task.with_(x_val=task.x_val[few], y_val=task.y_val[few]))
            case.look(monitor)


def spread(run: Run) -> float:
    """How far neighbouring evaluations lie apart, as a factor."""
    values = run.series("val/loss").values[-10:] + 1e-3
    return float(np.exp(np.abs(np.diff(np.log(values))).mean()))
