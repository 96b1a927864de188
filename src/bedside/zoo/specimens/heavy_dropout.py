"""Heavy dropout: validation is better than training from beginning to end.

## Story
Half of all units are dropped in training and none in validation. The training loss is that of a crippled network, so
the validation loss is below it at every evaluation.

## What to see
A validation loss well below the training loss; both fall.

## Source
Srivastava et al. (2014), Dropout.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="MLP")
def heavy_dropout(case: Case) -> None:
    task = data.digits(case.seed)
    first, second, last = nn.Linear(64, 256), nn.Linear(256, 128), nn.Linear(128, 10)
    model = nn.Sequential(first, nn.ReLU(), nn.Dropout(0.6), second, nn.ReLU(), nn.Dropout(0.6), last)
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=400)
