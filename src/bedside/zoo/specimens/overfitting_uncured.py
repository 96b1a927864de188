"""Overfitting without its cures: the same run with noise on the inputs and weight decay is well.

## Story
A wide network on three hundred noisy examples, for three hundred epochs. Left alone it learns the noise by heart; with
noise on the inputs and weight decay (the cures) it stops where the data stop telling it anything.

## What to see
The validation loss turns and climbs for the rest of the run; with the cures the two curves stay together.

## Source
Srivastava et al. (2014), Dropout: a simple way to prevent neural networks from overfitting.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse, lowest_validation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["overfitting", "overconfident"]],
    severities={"mild": 64, "marked": 256, "severe": 512},
    onset=lowest_validation,
    fault_check=ends_worse("val/loss", by=0.12),
)
def overfitting_uncured(case: Case) -> None:
    task = data.digits(case.seed).first(300)
    wrong = torch.rand(300, generator=torch.Generator().manual_seed(case.seed)) < 0.15
    task = task.with_(y=torch.where(wrong, (task.y + 3) % 10, task.y))
    hidden, noise, decay = (case.severity, 0.0, 0.0) if case.sick else (32, 0.2, 0.1)
    model = models.mlp([64, hidden, 10])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=decay)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(3000, 32)):
            optimizer.zero_grad()
            cross_entropy(model(x + noise * torch.randn_like(x)), y).backward()
            optimizer.step()
            if step % 25 == 24:
                validate(monitor, model, task)
            case.look(monitor)
