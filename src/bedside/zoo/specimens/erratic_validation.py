"""Validation on eight examples: the curve leaps, and every conclusion from it is luck.

## Story
To save time each evaluation draws a handful of examples, and being so cheap there is one every fifth step. One hard
picture among eight moves the loss by a factor; the best checkpoint is the luckiest one.

## What to see
A validation loss that leaps by factors from one evaluation to the next, over a training loss that falls smoothly. As
long as the network knows little, every example costs the same and a handful is as good as all; the fault begins at the
first evaluation that is twice or half of what its two predecessors promised, which the twin's never are.

## Source
The corpus' evaluations that swing over a decade around a smooth training loss.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.record.run import Run
from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="conv net",
    expects=[["erratic-validation"]],
    severities={"mild": 16, "marked": 8, "severe": 4},
    onset=lambda run: first_leap(run),
    fault_check=lambda sick, twin: spread(sick) > 1.5 * spread(twin),
)
def erratic_validation(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    size = case.severity if case.sick else len(task.x_val)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(1200, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 5 == 4:
                few = torch.randperm(len(task.x_val))[:size]
                validate(monitor, model, task.with_(x_val=task.x_val[few], y_val=task.y_val[few]))
            case.look(monitor)


def first_leap(run: Run) -> int:
    """The first evaluation that is off the line through the two before it, on the logarithm, by a factor of two."""
    losses = run.series("val/loss")
    off = np.abs(np.diff(np.log(losses.values + 1e-3), 2)) > np.log(2)
    return int(losses.steps[2:][off][0]) if off.any() else 0


def spread(run: Run) -> float:
    """How far neighbouring evaluations lie apart, as a factor."""
    values = run.series("val/loss").values[-10:] + 1e-3
    return float(np.exp(np.abs(np.diff(np.log(values))).mean()))
