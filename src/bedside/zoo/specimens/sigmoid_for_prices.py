"""A sigmoid at the end, and targets of two to ten: the answer is out of reach.

## Story
The head was taken from a classifier. Prices, ages or temperatures are to be told, and the last line of `forward` is
still a sigmoid. The network answers one for everything, which is as near as it can get.

## What to see
Targets outside the range of the operation that made the answers; a loss that falls a little and stands at a level that
looks like a hard task.

## Source
Goodfellow, Bengio and Courville (2016), Deep learning, section 6.2.2: output units and the losses that belong to them.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["unreachable-target"]],
    fault_check=ends_higher("val/loss", times=2.0),
)
def sigmoid_for_prices(case: Case) -> None:
    task = data.products(case.seed)
    task = task.with_(y=6 + task.y, y_val=6 + task.y_val)
    last = nn.Sigmoid() if case.sick else nn.Identity()
    model = nn.Sequential(models.mlp([8, 64, 64, 1], nn.Tanh), last)
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-2), task, steps=300, loss=F.mse_loss)
