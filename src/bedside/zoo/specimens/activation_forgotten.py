"""The activations between the layers are never called: a deep network that computes what one layer could.

## Story
`self.act = nn.ReLU()` stands in the constructor, and `forward` goes from layer to layer without it. Nothing fails. The
loss falls as far as a straight line gets it, and a wider network changes nothing.

## What to see
A graph without a single non-linearity between its layers, and a loss that settles at that of a linear regression.

## Source
Goodfellow, Bengio and Courville (2016), Deep learning, section 6.1: a linear model cannot learn XOR.
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
    expects=[["linear-network", "loss-at-chance", "underfitting", "stalled-loss", "stuck-from-start"]],
    fault_check=ends_higher("val/loss", times=1.5),
)
def activation_forgotten(case: Case) -> None:
    task = data.products(case.seed)
    model = models.mlp([8, 64, 64, 1], nn.Identity if case.sick else nn.Tanh)
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=400, loss=F.mse_loss)
