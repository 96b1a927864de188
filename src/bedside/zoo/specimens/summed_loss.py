"""A loss that is summed over the batch: gradient norms in the thousands, and all is well.

## Story
The loss is a sum over the batch and over all positions, not a mean. Losses and gradient norms are a thousand times what
people are used to; Adam does not mind.

## What to see
A first loss in the thousands, gradient norms to match, both falling smoothly.

## Source
The corpus' "gradient norms of 1e5 that are normal for that run".
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="LSTM")
def summed_loss(case: Case) -> None:
    task = data.text(case.seed)
    model = models.Recurrent(nn.GRU)

    def loss(answers: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(answers.flatten(0, 1), targets.flatten(), reduction="sum")

    train(case, model, torch.optim.Adam(model.parameters(), lr=3e-3), task, batch=16, loss=loss)
