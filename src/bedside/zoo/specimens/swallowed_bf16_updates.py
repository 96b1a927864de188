"""Weights in bfloat16: updates are smaller than the format can hold, and vanish.

## Story
The whole model was cast to bfloat16, optimizer included. Its numbers have eight bits, so a change of less than about
1/256 of a weight is rounded away; most changes are. In float32, or with a float32 copy of the weights, all is well.

## What to see
The update norm is far smaller than learning rate and gradient say, for many tensors exactly zero; the loss stalls.

## Source
Zamirai et al. (2020), Revisiting BFloat16 training.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["swallowed-updates", "undersized-update", "unmoved-parameter"]],
    fault_check=ends_worse("val/loss", by=0.1),
)
def swallowed_bf16_updates(case: Case) -> None:
    task = data.clusters(case.seed)
    kind = torch.bfloat16 if case.sick else torch.float32
    model = models.mlp([32, 96, 8]).to(kind)
    task = task.with_(x=task.x.to(kind), x_val=task.x_val[:400].to(kind), y_val=task.y_val[:400])
    train(case, model, torch.optim.AdamW(model.parameters(), lr=3e-4), task, steps=600, batch=64)
