"""A step schedule: the loss falls off a cliff when the learning rate is cut tenfold.

## Story
SGD with a high learning rate hovers above the valley's floor; at two thirds of the run the rate is divided by ten, and
the loss drops at once. Nothing is wrong before or after.

## What to see
A noisy plateau, a sudden fall at one step, a quiet plateau.

## Source
He et al. (2016), Deep residual learning for image recognition: every training curve there has it.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="conv net")
def learning_rate_drop(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet(dropout=0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [200])
    train(case, model, optimizer, task, steps=300, batch=32, scheduler=scheduler)
