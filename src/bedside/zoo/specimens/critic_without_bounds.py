"""A critic without bounds: its loss falls for ever, and its weights grow for ever.

## Story
A Wasserstein critic should be kept smooth, by clipping its weights or by a penalty. Without that it can make the
difference between real and fake as large as it likes, simply by growing.

## What to see
A loss that falls below any bound, faster and faster; the norm of the weights grows with it.

## Source
Arjovsky, Chintala and Bottou (2017), Wasserstein GAN; the corpus' negative losses.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from bedside.zoo import data
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen


@specimen(
    kind="GAN",
    expects=[["unbounded-negative-loss", "runaway-weights", "exploding-gradient", "diverging-loss"]],
    fault_check=ends_higher("param_norm", times=2),
)
def critic_without_bounds(case: Case) -> None:
    task = data.digits(case.seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    bound = math.inf if case.sick else 0.05
    with case.watch(model, optimizer) as monitor:
        for _, (real, _) in enumerate(task.batches(600, 64)):
            fake = torch.rand_like(real)
            optimizer.zero_grad()
            (model(fake).mean() - model(real).mean()).backward()
            optimizer.step()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.clamp_(-bound, bound)
            case.look(monitor)
