"""The optimizer steps after `zero_grad` and before `backward`: every step is empty.

## Story
Two lines in the wrong order. The step sees cleared gradients and does nothing; the gradients that come afterwards are
cleared before the next step can use them.

## What to see
A flat loss with healthy gradients and updates of zero.

## Source
DESIGN, step-without-gradient; a classic.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["step-without-gradient", "stuck-from-start", "silent-parameter", "undersized-update"]],
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def step_before_backward(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            optimizer.zero_grad()
            loss = cross_entropy(model(x), y)
            for part in (optimizer.step, loss.backward) if case.sick else (loss.backward, optimizer.step):
                part()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
