"""An initialisation of 0.01 in a deep tanh network: the signal dies out on the way.

## Story
Weights with a standard deviation of 0.01 at every layer. Each shrinks the signal tenfold; after eight layers all
inputs look alike to the head, and the gradient on the way back meets the same fate.

## What to see
Activations that shrink towards zero layer by layer; a loss at chance.

## Source
Glorot and Bengio (2010); the survey's "poor initialisation".
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
    expects=[["collapsed-activations", "stuck-from-start", "vanishing-gradient", "loss-at-chance"]],
    severities={"mild": 0.03, "marked": 0.01, "severe": 0.003},
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def collapsed_activations(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, *[100] * 8, 10], nn.Tanh)
    deviation = case.severity if case.sick else 0.1
    for layer in model[::2]:
        nn.init.normal_(layer.weight, std=deviation)
    train(case, model, torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9), task)
