"""Clipping at a hundredth of the usual norm: training at a snail's pace.

## Story
A threshold copied from another project. Every gradient is far above it, so every step is shortened to the same tiny
length; with plain SGD that is a learning rate a hundred times smaller than it says.

## What to see
The clipped norm is exactly the threshold at every step; the loss falls far too slowly.

## Source
Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks: how to choose the
threshold.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="LSTM",
    expects=[["gradient-always-clipped"]],
    severities={"mild": 0.05, "marked": 0.01, "severe": 0.001},
    fault_check=ends_worse("val/loss", by=0.15),
)
def clipping_too_tight(case: Case) -> None:
    task = data.text(case.seed)
    model = models.Recurrent()
    threshold = case.severity if case.sick else 5.0
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    train(case, model, optimizer, task, batch=16, clip=threshold)
