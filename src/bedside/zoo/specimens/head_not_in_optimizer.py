"""The head is in no optimizer: everything else learns around it.

## Story
The optimizer was given the backbone's parameters only. The head keeps its random weights; the layers before it learn
to live with them, so that the loss falls, slower and less far than it should.

## What to see
Update norms of exactly zero for the head while its gradient is healthy.

## Source
The comparison with other tools (docs/comparison.md), training `head`.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["uncovered-parameter"]],
    severities={"mild": 6, "marked": 4, "severe": 2},
    fault_check=lambda sick, twin: bool((sick.series("update_norm", "6").values == 0).all()),
)
def head_not_in_optimizer(case: Case) -> None:
    task = data.clusters(case.seed)
    model = models.four_layers()
    trained = model[: case.severity] if case.sick else model
    train(case, model, torch.optim.AdamW(trained.parameters(), lr=1e-3), task, batch=128)
