"""The loader is made anew at every step: the network sees one batch for ever.

## Story
`next(iter(loader))` inside the loop starts the loader over each time, and without shuffling the first batch is always
the same. The network learns sixty-four pictures by heart and nothing else.

## What to see
A training loss near zero very soon, a validation loss that climbs; every batch is the same one.

## Source
DESIGN, repeated-batches; a classic of hand-written loops.
"""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="conv net",
    expects=[["repeated-batches", "overfitting", "gap-from-start"]],
    fault_check=ends_higher("val/loss", times=1.2),
)
def same_batch_again(case: Case) -> None:
    task = data.images(case.seed)
    model = models.ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    order = task.batches(240, 64)
    loader = DataLoader(TensorDataset(task.x, task.y), batch_size=64)
    with case.watch(model, optimizer) as monitor:
        for step in range(240):
            x, y = next(iter(loader)) if case.sick else next(order)
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 12 == 11:
                validate(monitor, model, task)
            case.look(monitor)
