"""A hundred examples: the network learns them by heart.

## Story
Most of the digits are taken away. The training loss goes to zero, as it would with all
of them; the held-out loss turns round and climbs.

## What to see
Training and validation loss part; the gap grows for the rest of the run. With two hundred examples the held-out loss
would be twice that of the twin as well, but it would turn later and rise by little, and only the twin would show it.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 5.2: capacity, overfitting and underfitting.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse, lowest_validation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["overfitting", "overconfident", "gap-from-start"]],
    severities={"mild": 100, "marked": 64, "severe": 40},
    onset=lowest_validation,
    fault_check=ends_worse("val/loss", by=0.2),
)
def hundred_examples(case: Case) -> None:
    task = data.digits(case.seed)
    task = task.first(case.severity if case.sick else len(task))
    model = models.mlp([64, 128, 64, 10])
    train(case, model, torch.optim.Adam(model.parameters(), lr=3e-3), task, steps=800, batch=32, evaluations=80)
