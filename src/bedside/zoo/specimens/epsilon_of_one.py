"""Adam with an epsilon of 0.1 or 1: the steps are a hundredth of what the learning rate says.

## Story
The settings of another optimizer were copied, or the epsilon of a recipe with a learning rate a hundred times larger.
Adam divides by epsilon instead of by the usual size of the gradient, and creeps.

## What to see
An epsilon far above the root of the second moment, from the first steps on; a loss that falls as if the learning rate
had been a hundred times smaller.

## Source
Choi et al. (2019), On empirical comparisons of optimizers for deep learning: epsilon is a hyper-parameter.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="encoder",
    expects=[["damped-step", "undersized-update", "stuck-from-start", "loss-at-chance"]],
    severities={"marked": 1.0, "severe": 10.0},
    fault_check=ends_higher("val/loss", times=1.5),
)
def epsilon_of_one(case: Case) -> None:
    task = data.images(case.seed)
    model = models.Encoder()
    epsilon = case.severity if case.sick else 1e-8
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3, eps=epsilon), task, steps=240)
