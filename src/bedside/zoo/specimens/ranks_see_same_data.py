"""Two ranks, one and the same data: half of the work is done twice.

## Story
The sampler does not know which rank it serves (or `set_epoch` was forgotten), so both ranks draw the same batches in
the same order. Gradients are averaged over two copies of one; the run costs twice what it should.

## What to see
Losses that are equal on all ranks to the last digit, step by step; the same inputs on each.

## Source
PyTorch documentation, DistributedSampler.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from bedside.record.run import Run
from bedside.record.sqlite.reader import open_run
from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train
from bedside.zoo.two_ranks import two_ranks


@specimen(
    kind="MLP",
    expects=[["ranks-see-same-data"]],
    fault_check=lambda sick, twin: same_losses(sick) and not same_losses(twin),
)
def ranks_see_same_data(case: Case) -> None:
    two_ranks(case, on_a_rank)


def on_a_rank(case: Case, rank: int) -> None:
    task = data.digits(case.seed)
    share = 0 if case.sick else rank
    task = task.with_(x=task.x[share::2], y=task.y[share::2])
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    wrapped = nn.parallel.DistributedDataParallel(model)
    train(case, wrapped, optimizer, task, steps=120, batch=32)


def same_losses(run: Run) -> bool:
    other = open_run(Path(run.name), rank=1)
    return bool(np.array_equal(run.loss.values, other.loss.values))
