"""Two ranks that never talk: each trains a network of its own.

## Story
The model was wrapped, and the loop calls the unwrapped one. Nothing is averaged, the ranks drift apart, and the
checkpoint of rank 0 has seen half of the data.

## What to see
Weights and gradient norms that differ between ranks, more and more.

## Source
The survey: TrainCheck's stories, "replicas diverged"; DESIGN, ranks-disagree.
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
    expects=[["ranks-disagree"]],
    fault_check=lambda sick, twin: apart(sick) > 1e-5 > apart(twin),
)
def ranks_disagree(case: Case) -> None:
    two_ranks(case, on_a_rank)


def on_a_rank(case: Case, rank: int) -> None:
    task = data.digits(case.seed)
    task = task.with_(x=task.x[rank::2], y=task.y[rank::2])
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    wrapped = nn.parallel.DistributedDataParallel(model)
    train(case, model if case.sick else wrapped, optimizer, task, steps=120, batch=32)


def apart(run: Run) -> float:
    other = open_run(Path(run.name), rank=1)
    mine, theirs = run.series("param_norm").values, other.series("param_norm").values
    return float(np.abs(mine / theirs - 1).max())
