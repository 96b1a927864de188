"""A textbook run, with everything in order.

## Story
The curve that all others are compared with: a digits MLP with a sensible learning rate and enough data.

## What to see
Loss and validation loss fall together and flatten out; the gradient norm follows them down.

## Source
Karpathy (2019), A recipe for training neural networks: what a run should look like.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="MLP")
def textbook(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    train(case, model, torch.optim.Adam(model.parameters(), lr=1e-3), task, steps=400)
