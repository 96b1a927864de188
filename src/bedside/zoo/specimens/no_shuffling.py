"""Digits sorted by class, never shuffled: each epoch is ten small trainings in a row.

## Story
The file is sorted by label and `shuffle=True` was forgotten. For dozens of steps the network sees only zeros, then only
ones, and learns to answer whatever came last.

## What to see
A saw-tooth: the loss falls within each class and jumps at each change, in the same places every epoch.

## Source
Bottou (2012), Stochastic gradient descent tricks: shuffle the examples.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["epoch-boundary-jump", "lopsided-labels", "oscillating-loss", "repeated-batches", "erratic-validation"]],
    fault_check=ends_worse("val/accuracy", by=0.08),
)
def no_shuffling(case: Case) -> None:
    task = data.digits(case.seed)
    by_class = torch.argsort(task.y)
    task = task.with_(x=task.x[by_class], y=task.y[by_class], shuffle=not case.sick)
    model = models.mlp([64, 64, 10])
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-3), task, steps=440, batch=32)
