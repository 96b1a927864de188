"""All weights begin equal: every unit of a layer stays the same unit.

## Story
`nn.init.constant_` on every layer. Units with equal weights get equal gradients and stay equal for ever: a layer of
sixty-four is a layer of one.

## What to see
All rows of a weight matrix identical, at every step; the loss stalls high above its twin's.

## Source
Goodfellow, Bengio and Courville (2016), section 8.4: breaking symmetry.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["symmetric-units", "underfitting", "stalled-loss"]],
    severities={"mild": 0.05, "marked": 0.01},
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def symmetric_units(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 64, 10])
    for layer in model[::2] if case.sick else []:
        nn.init.constant_(layer.weight, case.severity)
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-3), task)
