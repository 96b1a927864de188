"""Ten sigmoid layers: the gradient fades before it reaches the front.

## Story
The slope of a sigmoid is at most 1/4, so each layer passes on less than a quarter of
the gradient it gets; ten of them leave a millionth. Optimizers that normalise hide part of it: the loss may even fall.

## What to see
Gradient norms per layer form a staircase of several decades, lowest at the front, from the first step on.

## Source
Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural networks.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train

DEPTH = 10


@specimen(
    kind="MLP",
    expects=[["vanishing-gradient"]],
    severities={"mild": 6, "marked": 8, "severe": 10},
    fault_check=ends_worse("val/accuracy", by=0.2),
)
def ten_sigmoid_layers(case: Case) -> None:
    task = data.digits(case.seed)
    sigmoids = case.severity if case.sick else 0
    layers: list[nn.Module] = [nn.Linear(64, 64), nn.ReLU()]
    for depth in range(1, DEPTH):
        layers += [nn.Linear(64, 64), nn.Sigmoid() if depth >= DEPTH - sigmoids else nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(64, 10))
    for layer in model[:-1:2]:
        nn.init.kaiming_normal_(layer.weight)
    train(case, model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), task, steps=400)
