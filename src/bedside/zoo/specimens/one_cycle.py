"""A one-cycle schedule with a high peak: the loss rises in the middle and ends lower than ever.

## Story
The learning rate climbs to its peak at a third of the run and falls to nothing. Around the peak the loss is noisy and
may rise; the long way down settles it.

## What to see
A hump in the loss around the peak of the learning rate; gradient norms that grow towards it.

## Source
Smith and Topin (2019), Super-convergence.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="encoder")
def one_cycle(case: Case) -> None:
    task = data.images(case.seed)
    model = models.Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=301)
    train(case, model, optimizer, task, steps=300, batch=32, scheduler=scheduler)
