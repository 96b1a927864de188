"""A NaN in one row of the data: the run ends when that row comes up.

## Story
A missing measurement was read as NaN. Nothing happens until the shuffled order reaches that row; one step later every
weight is NaN.

## What to see
A good loss curve that ends between two steps; the input of that step is not finite.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: missing validation of the input.
"""

from __future__ import annotations

import math

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate

FAULT = 120


@specimen(
    kind="MLP",
    expects=[["nonfinite-input", "nonfinite-loss", "nonfinite-gradient", "nonfinite-weights"]],
    onset=FAULT,
    fault_check=is_lost,
)
def nan_in_the_data(case: Case) -> None:
    task = data.wine(case.seed)
    model = models.mlp([13, 32, 3])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(200, 32)):
            x[0, 5] = math.nan if case.sick and step == FAULT else x[0, 5]
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 10 == 9:
                validate(monitor, model, task)
            case.look(monitor)
