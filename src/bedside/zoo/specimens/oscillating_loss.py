"""The loss bounces between the walls of the valley and gets no further down.

## Story
The learning rate is right for the slope at the beginning and too high for the valley at the end: each step crosses it.
Nothing diverges, nothing is NaN, and a third of the accuracy is missing.

## What to see
A loss that keeps swinging by half its level without a trend; gradient norms swing with it.

## Source
Cohen et al. (2021), Gradient descent on neural networks typically occurs at the edge of stability.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["oscillating-loss", "oscillating-gradient", "noisy-loss", "oversized-update", "stalled-loss"]],
    severities={"mild": 0.42, "marked": 0.46, "severe": 0.5},
    fault_check=ends_higher("val/loss", times=1.8),
)
def oscillating_loss(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    rate = case.severity if case.sick else 0.02
    train(case, model, torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9), task, steps=400)
