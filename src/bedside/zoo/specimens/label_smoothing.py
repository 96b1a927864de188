"""Label smoothing: a training loss with a high floor.

## Story
With a smoothing of 0.2 over ten classes even a perfect answer costs 0.9. The loss flattens there, the accuracy is as
good as ever.

## What to see
A loss that stalls near 0.9; validation accuracy near 1.

## Source
Szegedy et al. (2016), Rethinking the inception architecture.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="encoder")
def label_smoothing(case: Case) -> None:
    task = data.images(case.seed)
    model = models.Encoder()

    def loss(answers: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(answers, targets, label_smoothing=0.2)

    train(case, model, torch.optim.AdamW(model.parameters(), lr=3e-3), task, steps=300, batch=32, loss=loss)
