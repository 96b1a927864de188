"""A likelihood without a floor: the loss falls to minus infinity on pixels that are always black.

## Story
An autoencoder predicts a mean and a variance for each pixel. Some pixels are zero in every picture, so the variance
that fits them best is zero, and their log-density has no upper bound. The loss falls below zero and means nothing;
where the variance is nearly gone, the smallest deviation is a spike.

## What to see
A loss that goes below zero and keeps falling; the gradient norm grows while it does.

## Source
Kingma and Welling (2014) fix the variance for this reason; the corpus has negative losses by design as a trap.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo import data
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen


def answers(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and log-variance of each pixel; a brightness is never negative, and black is met exactly."""
    mean, logvar = model(x).chunk(2, 1)
    return mean.relu(), logvar


@specimen(
    kind="autoencoder",
    expects=[["unbounded-negative-loss", "exploding-gradient", "loss-spike"]],
    fault_check=ends_worse("val/reconstruction_mse", by=0.002),
)
def unbounded_likelihood(case: Case) -> None:
    task = data.digits(case.seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 128))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    floor = -80.0 if case.sick else 0.0
    with case.watch(model, optimizer) as monitor:
        for step, (x, _) in enumerate(task.batches(600, 64)):
            mean, logvar = answers(model, x)
            logvar = (10 * logvar).clamp(min=floor)
            optimizer.zero_grad()
            (0.5 * ((x - mean) ** 2 / logvar.exp() + logvar)).mean().backward()
            optimizer.step()
            if step % 30 == 29:
                with monitor.validation(), torch.no_grad():
                    monitor.log(reconstruction_mse=F.mse_loss(answers(model, task.x_val)[0], task.x_val))
            case.look(monitor)
