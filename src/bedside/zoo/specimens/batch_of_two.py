"""Batches of two at the learning rate of sixty-four: noise drowns the signal.

## Story
The batch size was cut to fit the memory and the learning rate was left as it was. Each step follows two examples, and
undoes what the last one did.

## What to see
A loss that swings between zero and ten times its mean at every step.

## Source
McCandlish et al. (2018), An empirical model of large-batch training: the variance of a batch's gradient falls with
its size.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["noisy-loss", "oscillating-loss", "oversized-update", "erratic-validation", "diverging-loss"]],
    severities={"mild": 4, "marked": 2, "severe": 1},
    fault_check=ends_higher("val/loss", times=2),
)
def batch_of_two(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    size = case.severity if case.sick else 64
    train(case, model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8), task, steps=500, batch=size)
