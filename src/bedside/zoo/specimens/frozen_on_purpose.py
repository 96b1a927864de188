"""A frozen backbone and a new head: most of the network does not move, on purpose.

## Story
Fine-tuning of the last layer only. The backbone is trained first, then frozen with `requires_grad_(False)`; only the
new head is in the optimizer.

## What to see
No gradient and no update for everything but the head; a loss that falls quickly.

## Source
Every transfer-learning tutorial.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, train


@lookalike(kind="conv net")
def frozen_on_purpose(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    before = torch.optim.Adam(model.parameters(), lr=2e-3)
    for x, y in task.batches(100, 64):
        before.zero_grad()
        cross_entropy(model(x), y % 5).backward()
        before.step()
    model.features.requires_grad_(False)
    model.head = nn.Linear(24 * 16, 10)
    train(case, model, torch.optim.Adam(model.head.parameters(), lr=3e-3), task, steps=240)
