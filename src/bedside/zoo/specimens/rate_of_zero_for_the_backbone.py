"""One parameter group has a learning rate of zero: half of the network never moves.

## Story
The backbone was to be frozen for the first epoch only, by a learning rate of zero, and nobody set it back.

## What to see
Healthy gradients and updates of exactly zero for the whole group.

## Source
A variant of the survey's "silent no-op updates".
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="conv net",
    expects=[["unmoved-parameter", "undersized-update", "vanished-learning-rate"]],
    severities={"mild": 1e-9, "marked": 0.0},
    fault_check=lambda sick, twin: float(sick.series("relative_update_norm", "features").values.max()) < 1e-6,
)
def rate_of_zero_for_the_backbone(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    slow = case.severity if case.sick else 2e-3
    groups = [{"params": model.features.parameters(), "lr": slow}, {"params": model.head.parameters()}]
    train(case, model, torch.optim.Adam(groups, lr=2e-3), task, steps=240)
