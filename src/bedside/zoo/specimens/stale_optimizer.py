"""The head was replaced after the optimizer was made: the optimizer moves a tensor that nobody uses.

## Story
A pretrained network gets a new head for the new task, one line below the optimizer's construction. The optimizer still
holds the old head.

## What to see
The new head never moves; the optimizer holds tensors the model no longer has.

## Source
The survey: accelerate#2665, "silent no-op updates"; the issue's list.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="conv net",
    expects=[["stale-optimizer", "uncovered-parameter"]],
    fault_check=lambda sick, twin: float(np.nanmax(sick.series("update_norm", "head").values)) == 0.0,
)
def stale_optimizer(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet(classes=100)
    before = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.head = nn.Linear(24 * 16, 10)
    optimizer = before if case.sick else torch.optim.Adam(model.parameters(), lr=2e-3)
    train(case, model, optimizer, task, steps=240)
