"""The answer is among the features: the model is perfect, and useless.

## Story
A column of the table is the label under another name (a diagnosis code, a file name, an index that was sorted by
class). Training and validation are perfect within a few steps, because both have the column.

## What to see
Loss near zero and accuracy near 1 almost at once, in training and validation alike. The run is short because the twin,
which has to learn, overfits its few hundred rows after that.

## Source
Kaufman et al. (2012), Leakage in data mining: formulation, detection, and avoidance.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bedside.zoo import data, models
from bedside.zoo.fault_check import at_the_end
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["leaked-answer", "suspiciously-perfect"]],
    severities={"mild": 3.0, "marked": 10.0},
    fault_check=lambda sick, twin: at_the_end(sick, "val/loss") < 0.1 * at_the_end(twin, "val/loss"),
)
def label_in_the_input(case: Case) -> None:
    task = data.tumours(case.seed)
    leak = case.severity if case.sick else 0.0
    task = task.with_(x=add_label(task.x, task.y, leak), x_val=add_label(task.x_val, task.y_val, leak))
    model = models.mlp([31, 32, 2])
    train(case, model, torch.optim.Adam(model.parameters(), lr=3e-3), task, steps=150, batch=32)


def add_label(x: Tensor, y: Tensor, strength: float) -> Tensor:
    return torch.cat([x, strength * (2.0 * y[:, None] - 1)], 1)
