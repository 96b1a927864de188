"""Inputs and labels are shuffled apart: there is nothing to learn.

## Story
Two arrays are shuffled with two different orders. Each is fine, together they mean nothing. The loss goes to the
entropy of the labels, which is chance, and stays there.

## What to see
A loss at ln 10 = 2.303 with a healthy learning rate, healthy gradients and healthy updates.

## Source
Zhang et al. (2017), Understanding deep learning requires rethinking generalization.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["loss-at-chance", "stuck-from-start"]],
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def labels_torn_from_inputs(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(1200, 64)):
            y = y[torch.randperm(len(y))] if case.sick else y
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
