"""A small regression that is solved to the last digit: gradient and updates are gone because nothing is left to do.

## Story
A smooth function without noise, full batches, a cosine schedule to zero. The loss falls by six decades and stands; so
do the gradients, the updates and the learning rate.

## What to see
Gradients at a millionth of their first size beside a loss at a millionth of its own: finished, not frozen.

## Source
Nocedal and Wright (2006), Numerical optimization, chapter 3: the gradient vanishes at a minimum.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from bedside.zoo import data
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="linear")
def trained_to_the_bottom(case: Case) -> None:
    task = data.products(case.seed)
    draw = torch.Generator().manual_seed(case.seed)
    slope = torch.randn(8, 1, generator=draw)
    task = task.with_(y=task.x @ slope, y_val=task.x_val @ slope)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
    train(case, model, optimizer, task, steps=400, batch=256, loss=F.mse_loss, scheduler=scheduler)
