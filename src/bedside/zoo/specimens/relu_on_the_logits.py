"""A ReLU after the last layer: the answers die, and the loss freezes at ln 10.

## Story
The activation was added after every layer, the last one included, whose bias starts at −5 because each class is rare.
Every answer is zero, every gradient is zero, and the loss is exactly ln 10 for ever. Without the ReLU the same bias
does no harm: softmax does not see what all classes have in common.

## What to see
A loss that does not change in the last digit; gradient norms of exactly zero.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: wrong activation of the output layer.
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
    expects=[["constant-loss", "stuck-from-start", "loss-at-chance", "dead-units", "dead-layer", "faded-gradient"]],
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def relu_on_the_logits(case: Case) -> None:
    task = data.digits(case.seed)
    layers = models.mlp([64, 128, 64, 10])
    nn.init.constant_(layers[-1].bias, -5.0)
    last = nn.ReLU() if case.sick else nn.Identity()
    model = nn.Sequential(*layers, last)
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-3), task)
