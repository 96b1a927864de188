"""Every element of the gradient is cut to the same tiny size: the steps have a direction of signs, and no length.

## Story
`clip_grad_value_` with a threshold from another project, far below what single elements usually are. What is left is
hardly more than their signs, and with plain SGD the learning rate says nothing any more.

## What to see
A gradient norm that falls to a fraction of itself at the clip call, at every step; a loss that hardly moves.

## Source
Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks: clipping by norm keeps the
direction, clipping by value does not.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["gradient-always-clipped"]],
    severities={"mild": 3e-4, "severe": 1e-4},
    fault_check=ends_worse("val/accuracy", by=0.2),
)
def clipped_by_value(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    threshold = case.severity if case.sick else 1.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            nn.utils.clip_grad_value_(model.parameters(), threshold)
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
