"""Validation looks at an old copy of the weights: the same number again and again.

## Story
The evaluator holds a copy of the model that was made before training (a checkpoint that is never rewritten, an EMA
that is never updated). Training goes well, and validation does not move in the last digit.

## What to see
A validation loss that is exactly constant while the training loss falls.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: wrong model evaluated.
"""

from __future__ import annotations

import copy

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate

FAULT = 60


@specimen(
    kind="MLP",
    expects=[["frozen-validation"]],
    onset=FAULT,
    fault_check=lambda sick, twin: len(set(sick.series("val/loss").values[-5:])) == 1,
)
def stale_checkpoint_evaluated(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    evaluated = model
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(600, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if case.sick and step == FAULT:
                evaluated = copy.deepcopy(model)
            if step % 15 == 14:
                validate(monitor, evaluated, task)
            case.look(monitor)
