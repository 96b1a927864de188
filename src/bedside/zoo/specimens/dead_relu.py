"""Most units of a layer are dead: it looks fine on average.

## Story
A layer's biases begin far below zero for most of its units. Those never answer, get no gradient and never recover;
the others carry on, and the loss falls, only less far.

## What to see
A large share of units that are zero for every input; gradient norms look healthy, being sums over the living.

## Source
Lu et al. (2020), Dying ReLU and initialization: theory and numerical examples.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["dead-units"]],
    severities={"mild": 0.85, "marked": 0.9, "severe": 0.97},
    fault_check=ends_higher("loss", times=1.2),
)
def dead_relu(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 64, 10])
    dead = int(64 * (case.severity if case.sick else 0.0))
    with torch.no_grad():
        model[2].bias[:dead] = -20.0
    train(case, model, torch.optim.Adam(model.parameters(), lr=3e-3), task)
