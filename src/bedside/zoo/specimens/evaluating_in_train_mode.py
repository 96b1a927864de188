"""Validation with dropout on and BatchNorm learning from it.

## Story
`model.eval()` is missing. Dropout makes held-out answers worse than they are, and BatchNorm learns from the validation
set as it goes by.

## What to see
A validation loss above the training loss's level that jumps from one evaluation to the next; the mode itself.

## Source
PyTorch documentation, Module.eval; Ioffe and Szegedy (2015), Batch normalization.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import at_the_end
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import accuracy, cross_entropy


@specimen(
    kind="conv net",
    expects=[["evaluating-in-train-mode"]],
    fault_check=lambda sick, twin: at_the_end(sick, "val/loss") > 1.3 * at_the_end(twin, "val/loss"),
)
def evaluating_in_train_mode(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet(dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(240, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 12 == 11:
                model.train(case.sick)
                with monitor.validation(), torch.no_grad():
                    answers = model(task.x_val)
                    monitor.log(val_loss=cross_entropy(answers, task.y_val), accuracy=accuracy(answers, task.y_val))
                model.train()
            case.look(monitor)
