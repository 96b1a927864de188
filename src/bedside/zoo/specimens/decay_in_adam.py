"""The weight decay of an AdamW recipe is given to Adam, which adds it to the gradient.

## Story
`Adam(…, weight_decay=0.1)`: AdamW takes a hundredth of a per cent from the weights at each step; Adam adds the same
to the gradient and divides by the gradient's usual size. The decay outweighs the loss, and every weight walks towards
zero at full speed.

## What to see
A decay times the weights that is many times the gradient from the first steps on; weights that shrink, a loss near that
of a blind guess.

## Source
Loshchilov and Hutter (2019), Decoupled weight decay regularization.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["decay-outweighs-gradient", "shrinking-weights"]],
    fault_check=ends_higher("val/loss", times=2.0),
)
def decay_in_adam(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    kind = torch.optim.Adam if case.sick else torch.optim.AdamW
    optimizer = kind(model.parameters(), lr=2e-3, weight_decay=0.3)
    train(case, model, optimizer, task, steps=260)
