"""Right as often as before, and ever more sure when wrong.

## Story
Trained long after there was anything left to learn, the network only raises its voice: accuracy stays where it is, and
each held-out mistake costs more. Label smoothing would have kept it modest.

## What to see
Validation loss climbs while validation accuracy is flat.

## Source
Guo et al. (2017), On calibration of modern neural networks.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher, lowest_validation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["overconfident", "overfitting"]],
    onset=lowest_validation,
    fault_check=ends_higher("val/loss", times=1.2),
)
def overconfident(case: Case) -> None:
    task = data.tumours(case.seed)
    model = models.mlp([30, 64, 64, 2])
    smoothing = 0.0 if case.sick else 0.1
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(answers: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(answers, targets, label_smoothing=smoothing if model.training else 0.0)

    train(case, model, optimizer, task, steps=500, loss=loss)
