"""Validation data are prepared in another way than training data.

## Story
The training pictures are divided by their maximum (16 for these digits, 255 for most pictures), the held-out ones are
not. The network has never seen numbers of that size, and its answers are loud and wrong from the first evaluation on.

## What to see
A validation loss far above the training loss from the first evaluation on, although the training loss is fine. Nothing
is wrong with what happens before that evaluation, so the fault begins there.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: training and test data preprocessed
differently.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher, first_evaluation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="conv net",
    expects=[["inputs-differ", "gap-from-start", "overfitting", "erratic-validation", "overconfident"]],
    severities={"mild": 6.0, "marked": 16.0, "severe": 255.0},
    onset=first_evaluation,
    fault_check=ends_higher("val/loss", times=2.5),
)
def validation_scaled_otherwise(case: Case) -> None:
    task = data.images(case.seed)
    stretch = case.severity if case.sick else 1.0
    task = task.with_(x_val=task.x_val * stretch + stretch - 1)
    model = models.ConvNet()
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=240)
