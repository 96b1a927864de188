"""A bias of −20: one layer is dead from the first step.

## Story
A layer's bias was initialised to −20 (a formula for rare classes, put on the wrong layer). Every ReLU behind it
answers zero, whatever comes in, so nothing in front of it gets a gradient. The head's bias still learns how frequent
the classes are, and the loss falls a little.

## What to see
Gradient norms of exactly zero in front of the dead layer, all of its units dead, a loss just below chance.

## Source
The comparison with other tools (docs/comparison.md), training `dead`.
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
    expects=[["dead-layer", "dead-units", "vanishing-gradient", "collapsed-activations", "faded-gradient"]],
    severities={"mild": -10.0, "marked": -20.0, "severe": -50.0},
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def dead_layer(case: Case) -> None:
    task = data.clusters(case.seed)
    model = models.four_layers()
    nn.init.constant_(model[4].bias, case.severity if case.sick else 0.0)
    train(case, model, torch.optim.AdamW(model.parameters(), lr=1e-3), task, batch=128)
