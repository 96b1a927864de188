"""A trunk whose BatchNorm layers stay in evaluation mode on purpose, as in detection and fine-tuning.

## Story
The trunk was trained on other data; its running statistics are to stay. `trunk.eval()` after every `model.train()` is
the usual way, and only the head is trained.

## What to see
Modules in evaluation mode at training steps, that have no parameter to train.

## Source
He et al. (2017), Mask R-CNN, and its reference implementation: frozen BatchNorm in the backbone.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, validate


@lookalike(kind="conv net")
def frozen_norm_trunk(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet(dropout=0.0)
    before = torch.optim.Adam(model.parameters(), lr=2e-3)
    for x, y in task.batches(60, 64):  # what it learned somewhere else
        before.zero_grad()
        cross_entropy(model(x), y % 5).backward()
        before.step()
    model.features.requires_grad_(False)
    torch.nn.init.normal_(model.head.weight, std=0.02)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(240, 64)):
            model.features.eval()
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 12 == 11:
                validate(monitor, model, task)
            case.look(monitor)
