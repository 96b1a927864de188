"""A variational autoencoder whose KL divergence is summed while its error is averaged: every picture becomes the mean.

## Story
The error comes from `F.mse_loss`, which averages over everything; the divergence is added up by hand with `sum()`. One
element of the second counts as much as thousands of the first, so the code is made to say nothing.

## What to see
Reconstructions that hardly differ from sample to sample; a loss that falls at once and then stands.

## Source
Kingma and Welling (2014), Auto-encoding variational Bayes; Bowman et al. (2016), Generating sentences from a continuous
space.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo import data
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen


class Variational(nn.Module):
    """64 pixels, a code of six numbers with a spread of its own, and back."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.mean, self.log_variance = nn.Linear(64, 96), nn.Linear(96, 6), nn.Linear(96, 6)
        self.decoder = nn.Sequential(nn.Linear(6, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = F.relu(self.encoder(x))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), -0.5 * (1 + log_variance - mean**2 - log_variance.exp())


@specimen(
    kind="autoencoder",
    expects=[["unbalanced-loss-parts", "collapsed-reconstruction"]],
    severities={"mild": 0.1, "severe": 1.0},
    fault_check=ends_higher("val/loss", times=2.0),
)
def summed_divergence(case: Case) -> None:
    task = data.digits(case.seed)
    model = Variational()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, _) in enumerate(task.batches(400, 64)):
            made, divergence = model(x)
            weighted = case.severity * divergence.sum() if case.sick else 2e-3 * divergence.mean()
            optimizer.zero_grad()
            (F.mse_loss(made, x) + weighted).backward()
            optimizer.step()
            if step % 20 == 19:
                with monitor.validation(), torch.no_grad():
                    monitor.log(val_loss=F.mse_loss(model(task.x_val)[0], task.x_val))
            case.look(monitor)
