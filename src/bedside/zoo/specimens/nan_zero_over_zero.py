"""0/0: a feature is divided by its own standard deviation, which is zero in some batches.

## Story
Each batch is standardised by its own statistics, without a small number in the denominator. Most measurements are
missing and read as zero; sooner or later a batch comes in which one of them is missing everywhere.

## What to see
A finite loss until such a batch comes; then NaN for good.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 4.1: division by a number that underflowed.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy


@specimen(
    kind="MLP",
    expects=[["nonfinite-loss", "nonfinite-gradient", "nonfinite-activation", "nonfinite-weights", "nonfinite-input"]],
    onset=lambda run: int(np.argmin(np.isfinite(run.loss.values))),
    fault_check=is_lost,
)
def nan_zero_over_zero(case: Case) -> None:
    task = data.wine(case.seed)
    task = task.with_(x=task.x * (torch.rand(task.x.shape) < 0.12), x_val=task.x_val)
    small = 0.0 if case.sick else 1e-3
    model = nn.Sequential(BatchStandardise(small), *models.mlp([13, 32, 3]))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with case.watch(model, optimizer) as monitor:  # rows that are mostly gone: nothing to evaluate on
        for x, y in task.batches(300, 32):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            case.look(monitor)


class BatchStandardise(nn.Module):
    """(x − mean) / (deviation + small): of the batch in training, of an average over many batches in evaluation."""

    def __init__(self, small: float) -> None:
        super().__init__()
        self.small = small
        self.register_buffer("mean", torch.zeros(13))
        self.register_buffer("deviation", torch.ones(13))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return (x - self.mean) / (self.deviation + self.small)
        mean, deviation = x.mean(0), x.std(0, unbiased=False)
        self.mean += 0.1 * (mean - self.mean)
        self.deviation += 0.1 * (deviation - self.deviation)
        return (x - mean) / (deviation + self.small)
