"""Mixup: the training loss stays high, and validation is far below it.

## Story
Inputs and labels are mixed in pairs, so that even a perfect model cannot bring the training loss near zero. Held-out
pictures are not mixed, and their loss is a fraction of it.

## What to see
A training loss that stalls near 1 with much noise; a validation loss far below; high accuracy.

## Source
Zhang et al. (2018), mixup; the corpus' "train loss on another scale".
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, validate


@lookalike(kind="conv net")
def mixup(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    shares = torch.distributions.Beta(1.0, 1.0)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            share, other = shares.sample(), torch.randperm(len(x))
            answers = model(share * x + (1 - share) * x[other])
            optimizer.zero_grad()
            (share * cross_entropy(answers, y) + (1 - share) * cross_entropy(answers, y[other])).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
