"""Twelve layers, each too loud: the gradient grows towards the front.

## Story
An initialisation with a gain of 2.4 instead of the square root of 2 makes each layer seventy percent too loud. Twelve
of them make a factor of several hundred, in the activations on the way up and in the gradient on the way down.

## What to see
Gradient norms far above anything else from the first step on; logits in the hundreds and a first loss far above chance.

## Source
The four gradient regimes; He et al. (2015).
"""

from __future__ import annotations

import math

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["exploding-gradient", "oversized-update", "growing-activations", "diverging-loss", "nonfinite-loss"]],
    severities={"mild": 2.1, "marked": 2.4, "severe": 2.8},
    fault_check=ends_worse("val/accuracy", by=0.1),
)
def exploding_depth(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, *[48] * 12, 10])
    gain = case.severity if case.sick else math.sqrt(2)
    for layer in model[::2]:
        nn.init.normal_(layer.weight, std=gain / math.sqrt(layer.in_features))
    train(case, model, torch.optim.SGD(model.parameters(), lr=0.02), task, steps=400)
