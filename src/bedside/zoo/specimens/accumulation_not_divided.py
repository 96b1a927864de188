"""Gradients of eight micro-batches are added and not divided: eight times the learning rate.

## Story
Gradient accumulation without the division by the number of micro-batches. The sum is eight times the mean, and with
plain SGD so is the step.

## What to see
A gradient norm that grows with the number of micro-batches; an unstable loss at a learning rate that should be fine.

## Source
The survey: transformers#34191 and its relatives; the issue's list.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.record.run import Run
from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate

PIECES = 8


@specimen(
    kind="MLP",
    expects=[["unscaled-accumulation"]],
    fault_check=lambda sick, twin: first_norms(sick) > 2.5 * first_norms(twin),
)
def accumulation_not_divided(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    parts = 1 if case.sick else PIECES
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(200, 16 * PIECES)):
            optimizer.zero_grad()
            for x_part, y_part in zip(x.chunk(PIECES), y.chunk(PIECES), strict=True):
                (cross_entropy(model(x_part), y_part) / parts).backward()
            optimizer.step()
            if step % 10 == 9:
                validate(monitor, model, task)
            case.look(monitor)


def first_norms(run: Run) -> float:
    return float(np.median(run.series("grad_norm").values[:5]))
