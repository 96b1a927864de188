"""Augmentation is switched off for the last part: the training loss changes level in one step.

## Story
Noise and shifts are added to the pictures for most of the run and left out at the end, as many recipes do. The training
loss falls by half within one step, because the task became easier.

## What to see
A level change of the training loss alone, at one step, downwards.

## Source
YOLOX (Ge et al., 2021) and its relatives; the corpus' "level change when augmentation is switched off".
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, validate


@lookalike(kind="conv net")
def augmentation_off(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            if step < 220:
                x = x.roll(int(torch.randint(-1, 2, ())), 3) + 0.7 * torch.randn_like(x)
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
