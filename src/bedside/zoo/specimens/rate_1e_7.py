"""A learning rate of 1e-7 for AdamW: nothing moves.

## Story
Somebody typed one zero too many, or a schedule's floor became its level.

## What to see
A flat loss at ln 8 = 2.079, relative updates near 1e-6, gradients as healthy as ever.

## Source
The comparison with other tools (docs/comparison.md), training `lr_low`.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["undersized-update", "stuck-from-start", "vanished-learning-rate", "loss-at-chance"]],
    severities={"mild": 1e-6, "marked": 1e-7, "severe": 1e-9},
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def rate_1e_7(case: Case) -> None:
    task = data.clusters(case.seed)
    model = models.four_layers()
    rate = case.severity if case.sick else 1e-3
    train(case, model, torch.optim.AdamW(model.parameters(), lr=rate), task, steps=400, batch=128)
