"""The slope of a square root at zero: a finite loss with an infinite gradient.

## Story
A distance is computed as the square root of a sum of squares. Where the two points are equal, the loss is a harmless
zero and its gradient is 0 times infinity. The loss shows nothing until the step after.

## What to see
The gradient is NaN one step before the loss is.

## Source
PyTorch documentation, Autograd mechanics: gradients of functions that are not differentiable.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen

FAULT = 150


@specimen(
    kind="autoencoder",
    expects=[["nonfinite-gradient", "nonfinite-loss", "nonfinite-weights"]],
    onset=FAULT,
    fault_check=is_lost,
)
def nan_sqrt_of_zero(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    small = 0.0 if case.sick else 1e-8
    with case.watch(model, optimizer) as monitor:
        for step, (x, _) in enumerate(task.batches(300, 64)):
            restored = model(x)
            if step >= FAULT:
                restored = restored * (x > 0)  # from here on only ink counts
            optimizer.zero_grad()
            ((restored - x) ** 2 + small).sqrt().mean().backward()
            optimizer.step()
            if step % 15 == 14:
                with monitor.validation(), torch.no_grad():
                    monitor.log(val_loss=F.l1_loss(model(task.x_val), task.x_val))
            case.look(monitor)
