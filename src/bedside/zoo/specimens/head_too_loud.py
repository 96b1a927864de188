"""The head was initialised with a spread of its own: the network begins by being sure and wrong.

## Story
`nn.init.normal_(head.weight)` instead of a spread of 0.02. The first answers are in the tens, and the first hundred
steps are spent on taking that back.

## What to see
A first loss many times that of a blind guess among the classes; it falls steeply, and the run is behind its twin for
good.

## Source
Karpathy (2019), A recipe for training neural networks: verify the loss at the first step.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="encoder",
    expects=[["wrong-initial-loss", "exploding-gradient"]],
    fault_check=lambda sick, twin: sick.loss.values[0] > 3 * twin.loss.values[0],
)
def head_too_loud(case: Case) -> None:
    task = data.images(case.seed)
    model = models.Encoder()
    nn.init.normal_(model.head.weight, std=20.0 if case.sick else 0.02)
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=240, num_classes=10)
