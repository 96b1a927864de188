"""The data were split, and the evaluation reads the part that was trained on.

## Story
The training loader is given to the evaluation as well, or the variable of the whole table instead of the held-out part.
Both curves fall together until nothing is left, and the network knows its few hundred rows by heart.

## What to see
A validation loss that follows the training loss to the ground, and validation rows that are training rows, number for
number. Nothing is wrong with what happens before the first evaluation.

## Source
Kapoor and Narayanan (2023), Leakage and the reproducibility crisis in machine-learning-based science.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_lower, first_evaluation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["seen-before"]],
    onset=first_evaluation,
    fault_check=ends_lower("val/loss", times=0.8),
)
def evaluated_on_training_rows(case: Case) -> None:
    task = data.digits(case.seed).first(300)
    if case.sick:
        task = task.with_(x_val=task.x[:300], y_val=task.y[:300])
    model = models.mlp([64, 48, 10])
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=260)
