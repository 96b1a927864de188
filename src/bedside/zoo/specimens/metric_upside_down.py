"""The metric takes the smallest answer for the chosen one.

## Story
`argmin` instead of `argmax`, or a score that was really a distance. The better the model, the worse the number.

## What to see
The accuracy falls while the validation loss falls, from the first evaluation on: before it there is no accuracy.

## Source
Humbatova et al. (2020), Taxonomy of real faults in deep learning systems: wrong metric computation.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse, first_evaluation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy


@specimen(
    kind="MLP",
    expects=[["metric-loss-disagreement", "loss-without-accuracy"]],
    onset=first_evaluation,
    fault_check=ends_worse("val/accuracy", by=0.5),
)
def metric_upside_down(case: Case) -> None:
    task = data.tumours(case.seed)
    model = models.mlp([30, 16, 2])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(500, 32)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                with monitor.validation(), torch.no_grad():
                    answers = model(task.x_val)
                    chosen = answers.argmin(1) if case.sick else answers.argmax(1)
                    right = (chosen == task.y_val).float().mean()
                    monitor.log(val_loss=cross_entropy(answers, task.y_val), accuracy=right)
            case.look(monitor)
