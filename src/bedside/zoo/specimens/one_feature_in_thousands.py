"""Inputs on scales from 0.1 to 1,700: one measurement drowns the others.

## Story
The wine data as they come: twelve measurements near one and proline near a thousand. Without standardising, the loss is
steep in one direction and flat in the rest, and no learning rate suits both.

## What to see
Inputs far from zero mean and unit scale; a first loss far above chance; a loss that stalls.

## Source
LeCun et al. (1998), Efficient backprop.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["unnormalised-input", "loss-at-chance", "stuck-from-start", "dead-units", "stalled-loss"]],
    fault_check=ends_worse("val/accuracy", by=0.1),
)
def one_feature_in_thousands(case: Case) -> None:
    task = data.wine(case.seed, standardised=not case.sick)
    model = models.mlp([13, 32, 3])
    train(case, model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), task, steps=400, batch=32)
