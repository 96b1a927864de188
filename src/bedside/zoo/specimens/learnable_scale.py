"""A learnable scale drawn from N(0, 1) in front of an exponential: the gradient is clipped at every step.

## Story
Log-scaled pixels get a learnable scale and are then exponentiated. The scale should begin at one, which changes
nothing, and begins at random: half of it is negative, so the blackest pixels become the loudest, ten thousand times
over. The gradient is dwarfed by what they contribute, clipping shrinks everything to make room for them, and the rest
of the network starves.

## What to see
A gradient norm far above the threshold at every step, where the twin is never clipped; `scale`, which is nobody's
module, and the layer behind it carry nearly all of it.

## Source
LeCun et al. (1998), Efficient backprop: inputs and parameters of very different scales.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


class Scaled(nn.Module):
    """exp(scale · x) of log-scaled pixels, then an MLP."""

    def __init__(self, scale: Tensor) -> None:
        super().__init__()
        self.scale = nn.Parameter(scale)
        self.layers = models.mlp([64, 64, 10])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(torch.exp(x * self.scale))


@specimen(
    kind="MLP",
    expects=[["dominant-module", "gradient-always-clipped", "exploding-gradient", "wrong-initial-loss"]],
    fault_check=ends_worse("val/accuracy", by=0.1),
)
def learnable_scale(case: Case) -> None:
    task = data.digits(case.seed)
    task = task.with_(x=torch.log(task.x + 0.01), x_val=torch.log(task.x_val + 0.01))
    model = Scaled(torch.randn(64) if case.sick else torch.ones(64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    train(case, model, optimizer, task, clip=5.0)
