"""Nearly all training examples are of one class.

## Story
A filter dropped most examples of nine classes. The network answers the tenth, is right nearly always in training, and
the balanced validation set shows what that is worth.

## What to see
A low training loss early on; validation accuracy far below; batches that consist of one label.

## Source
The survey's row on class imbalance.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["lopsided-labels", "gap-from-start", "overfitting"]],
    severities={"mild": 0.99, "marked": 0.997, "severe": 0.999},
    fault_check=ends_worse("val/accuracy", by=0.05),
)
def lopsided_labels(case: Case) -> None:
    task = data.digits(case.seed)
    dropped = case.severity if case.sick else 0.0
    keep = (task.y == 3) | (torch.rand(len(task)) >= dropped)
    chosen = keep.nonzero()[:, 0]
    copies = chosen[torch.randint(0, len(chosen), (1400,))]
    task = task.with_(x=task.x[copies], y=task.y[copies])
    model = models.mlp([64, 64, 10])
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-3), task)
