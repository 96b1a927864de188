"""`model.train()` is missing after validation: BatchNorm is frozen and dropout is off.

## Story
The first evaluation switches to eval mode, and nothing switches back. From then on BatchNorm normalises with the
statistics of the first few batches, and dropout does not happen.

## What to see
The mode itself; a gap that grows faster than it should, or a loss that drifts where BatchNorm no longer fits.

## Source
PyTorch documentation, Module.eval.
"""

from __future__ import annotations

import torch

from bedside.record.run import Run
from bedside.zoo import data, models
from bedside.zoo.fault_check import at_the_end
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="conv net",
    expects=[["training-in-eval-mode"]],
    onset=12,
    fault_check=lambda sick, twin: at_the_end(sick, "loss") < 0.9 * at_the_end(twin, "loss") or is_worse(sick, twin),
)
def training_in_eval_mode(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet(dropout=0.4)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(240, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 12 == 11:
                validate(monitor, model, task)
                model.train(not case.sick)
            case.look(monitor)


def is_worse(sick: Run, twin: Run) -> bool:
    return at_the_end(sick, "val/loss") > 1.1 * at_the_end(twin, "val/loss")
