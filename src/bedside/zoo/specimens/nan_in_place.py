"""Data prepared in place: each epoch takes the logarithm of the logarithm.

## Story
`x.log_()` instead of `x.log()`, on a view of the data set. The first epoch sees logarithms, the second logarithms of
logarithms, and the logarithm of a negative number is NaN.

## What to see
A good first epoch, another distribution in the second, NaN at its start.

## Source
PyTorch documentation, Autograd mechanics: in-place operations.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["nonfinite-input", "nonfinite-loss", "nonfinite-gradient", "nonfinite-weights"]],
    onset=44,
    fault_check=is_lost,
)
def nan_in_place(case: Case) -> None:
    task = data.digits(case.seed)
    task = task.with_(x=task.x + 0.1, x_val=(task.x_val + 0.1).log())
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with case.watch(model, optimizer) as monitor:
        for step in range(220):
            first = step % 44 * 32
            x, y = task.x[first : first + 32], task.y[first : first + 32]
            x = x.log_() if case.sick else x.log()
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 11 == 10:
                validate(monitor, model, task)
            case.look(monitor)
