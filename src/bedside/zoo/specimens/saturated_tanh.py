"""tanh units driven to the wall: outputs of exactly ±1, slopes of zero.

## Story
Weights initialised with a standard deviation of 1 (torch.randn, without the division by the square root of the width).
Every tanh sees inputs in the tens and answers ±1, whatever changes below.

## What to see
Nearly all outputs at ±1; small gradients in front; training accuracy lags far behind.

## Source
Glorot and Bengio (2010); the survey's rows on saturated activations.
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
    expects=[["saturated-units", "vanishing-gradient", "exploding-gradient"]],
    severities={"mild": 1.0, "marked": 2.0, "severe": 5.0},
    fault_check=ends_worse("val/accuracy", by=0.05),
)
def saturated_tanh(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 128, 128, 10], nn.Tanh)
    deviation = case.severity if case.sick else 0.09
    for layer in model[::2]:
        nn.init.normal_(layer.weight, std=deviation)
    train(case, model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), task)
