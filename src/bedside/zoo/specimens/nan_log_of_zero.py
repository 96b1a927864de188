"""log(0): a probability rounds to exactly one in a hand-written cross-entropy.

## Story
The loss is written with logarithms of p and of 1 − p. As the network grows sure of itself, p rounds to exactly 1, and
the logarithm of 1 − p is minus infinity, times zero. The version on logits never meets the zero.

## What to see
A loss that falls nicely and is NaN one step later.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 4.1: underflow before a logarithm.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["nonfinite-loss", "nonfinite-activation", "nonfinite-gradient", "nonfinite-weights"]],
    onset=lambda run: int(np.argmin(np.isfinite(run.loss.values))),
    fault_check=is_lost,
)
def nan_log_of_zero(case: Case) -> None:
    task = data.digits(case.seed)
    task = task.with_(y=F.one_hot(task.y, 10).float(), y_val=F.one_hot(task.y_val, 10).float())
    model = models.mlp([64, 128, 10])

    def by_hand(answers: Tensor, targets: Tensor) -> Tensor:
        p = torch.sigmoid(answers)
        return -(targets * torch.log(p) + (1 - targets) * torch.log(1 - p)).mean()

    loss = by_hand if case.sick else F.binary_cross_entropy_with_logits
    train(case, model, torch.optim.Adam(model.parameters(), lr=3e-2), task, steps=400, loss=loss)
