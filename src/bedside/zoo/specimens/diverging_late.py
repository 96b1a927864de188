"""The loss falls, then turns and leaves for good.

## Story
A learning rate that grows by itself: a schedule with a factor just above 1 instead of just below. For half of the run
it looks like progress; then the steps outgrow the valley.

## What to see
A V-shaped loss; the relative update rises all the while, and passes 0.01 shortly before the turn.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 8.2: cliffs and exploding gradients.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.record.run import Run
from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["diverging-loss", "oversized-update", "late-overshoot", "exploding-gradient", "nonfinite-loss"]],
    severities={"mild": 1.02, "marked": 1.03, "severe": 1.05},
    onset=lambda run: best_step(run),
    fault_check=ends_worse("val/loss", by=0.3),
)
def diverging_late(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    factor = case.severity if case.sick else 0.995
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, factor)
    train(case, model, optimizer, task, scheduler=scheduler)


def best_step(run: Run) -> int:
    """Where the smoothed training loss was lowest: what follows is the divergence."""
    values = run.loss.finite().values
    smooth = np.convolve(values, np.ones(9) / 9, "valid") if len(values) >= 9 else values
    return int(run.loss.steps[int(np.argmin(smooth))]) + 4
