"""Validation without `no_grad`: memory and time for a graph that nobody uses.

## Story
The evaluation builds the whole graph and throws it away. On a small model it is only slow; on a large one it is the
out-of-memory error at the end of the first epoch.

## What to see
Nothing on the curves: whether gradients were being recorded during validation is the only sign.

## Source
PyTorch documentation, Locally disabling gradient computation.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import accuracy, cross_entropy


@specimen(
    kind="conv net",
    expects=[["evaluating-with-gradients"]],
    onset=11,
    fault_check=lambda sick, twin: True,  # it costs memory, not accuracy; the line below is the fault
)
def evaluating_with_gradients(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(240, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 12 == 11:
                model.eval()
                with monitor.validation(), torch.set_grad_enabled(case.sick):
                    answers = model(task.x_val)
                    monitor.log(val_loss=cross_entropy(answers, task.y_val), accuracy=accuracy(answers, task.y_val))
                model.train()
            case.look(monitor)
