"""A retrieval that looks for neighbours among its training examples: they are in the evaluation by right.

## Story
The network learns to place digits of one class close together. It is evaluated as it will be used: held-out digits are
looked up among the training digits, and all of them pass through the network in one forward. Nothing that is scored was
trained on.

## What to see
Validation batches most of whose rows are training rows, number for number, and a recall that is honest all the same.

## Source
Khosla et al. (2020), Supervised contrastive learning; the evaluation is that of any metric learning.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike


@lookalike(kind="MLP")
def searched_training_rows(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 16])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            optimizer.zero_grad()
            contrast(model(x), y).backward()
            optimizer.step()
            if step % 15 == 14:
                with monitor.validation(), torch.no_grad():
                    places = F.normalize(model(torch.cat([task.x, task.x_val])))
                    known, asked = places[: len(task.x)], places[len(task.x) :]
                    monitor.log(recall=(task.y[(asked @ known.T).argmax(1)] == task.y_val).float().mean())
            case.look(monitor)


def contrast(places: Tensor, y: Tensor) -> Tensor:
    """Those of the same class should be the nearest: minus the mean log-probability of picking one of them."""
    places = F.normalize(places)
    itself = torch.eye(len(y), dtype=torch.bool)
    odds = F.log_softmax((places @ places.T / 0.2).masked_fill(itself, -1e9), 1)
    same = (y[:, None] == y) & ~itself
    return -((odds * same).sum(1) / same.sum(1).clamp(min=1)).mean()
