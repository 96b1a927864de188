"""Adam in float16: the squares of the gradients are smaller than the smallest number.

## Story
The weights, and with them Adam's averages, are float16. The square of a gradient of 1e-4 is 1e-8, which float16 rounds
to zero, and epsilon with it. The step is a gradient divided by nothing.

## What to see
Second moments of exactly zero, updates that leap to infinity or NaN.

## Source
Micikevicius et al. (2018), Mixed precision training; Kingma and Ba (2015), Adam: a method for stochastic
optimization.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import either, ends_worse, is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["underflowing-second-moment", "nonfinite-loss", "nonfinite-weights", "oversized-update"]],
    fault_check=either(is_lost, ends_worse("val/accuracy", by=0.1)),
)
def underflowing_second_moment(case: Case) -> None:
    task = data.digits(case.seed)
    kind = torch.float16 if case.sick else torch.float32
    model = models.mlp([64, 48, 10]).to(kind)
    task = task.with_(x=task.x.to(kind), x_val=task.x_val.to(kind))
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-3), task, batch=32)
