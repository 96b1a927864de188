"""The metric is computed on the wrong column: the loss falls, the accuracy does not rise.

## Story
The accuracy compares answers with labels that were shuffled on the way (or with the labels of another file). The loss
is computed correctly and falls; the accuracy stays at chance.

## What to see
Validation loss and accuracy tell opposite stories, from the first evaluation on: before it there is no accuracy.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: wrong metric computation.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse, first_evaluation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import accuracy, cross_entropy


@specimen(
    kind="MLP",
    expects=[["loss-without-accuracy", "metric-loss-disagreement"]],
    onset=first_evaluation,
    fault_check=ends_worse("val/accuracy", by=0.5),
)
def accuracy_of_the_wrong_column(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    labels = task.y_val[torch.randperm(len(task.y_val))] if case.sick else task.y_val
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(1500, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                with monitor.validation(), torch.no_grad():
                    answers = model(task.x_val)
                    monitor.log(val_loss=cross_entropy(answers, task.y_val), accuracy=accuracy(answers, labels))
            case.look(monitor)
