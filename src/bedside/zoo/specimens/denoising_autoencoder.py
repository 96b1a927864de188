"""A denoising autoencoder whose loss stops at the noise it cannot know.

## Story
The network removes noise from digits. Part of it looks just like ink, so the loss flattens at a level far from
zero, and that is as good as it gets.

## What to see
A smooth fall, then a long flat stretch; validation and training together.

## Source
Vincent et al. (2008), Denoising autoencoders.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import validate


@lookalike(kind="autoencoder")
def denoising_autoencoder(case: Case) -> None:
    task = data.digits(case.seed)
    task = task.with_(y=task.x, y_val=task.x_val, x_val=task.x_val + 0.3 * torch.randn_like(task.x_val))
    model = models.autoencoder(32)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(400, 64)):
            optimizer.zero_grad()
            F.mse_loss(model(x + 0.3 * torch.randn_like(x)), y).backward()
            optimizer.step()
            if step % 20 == 19:
                validate(monitor, model, task, F.mse_loss)
            case.look(monitor)
