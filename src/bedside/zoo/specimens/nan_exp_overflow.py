"""exp of large logits: infinity over infinity.

## Story
A softmax written by hand exponentiates first and divides afterwards, and its answers are sharpened as training goes on.
Past 88 float32 has no number left for the exponential, and infinity over infinity is NaN. Subtracting the largest
answer first costs nothing.

## What to see
A loss that falls until the logits are large, then NaN.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 4.1: overflow of the softmax.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import validate


@specimen(
    kind="MLP",
    expects=[["nonfinite-loss", "nonfinite-activation", "nonfinite-gradient", "nonfinite-weights"]],
    onset=lambda run: int(np.argmin(np.isfinite(run.loss.values))),
    fault_check=is_lost,
)
def nan_exp_overflow(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(360, 64)):
            answers = model(x) * (1 + step / 2)
            largest = 0.0 if case.sick else answers.amax(1, keepdim=True)
            odds = (answers - largest).exp() + 1e-12
            optimizer.zero_grad()
            F.nll_loss(torch.log(odds / odds.sum(1, keepdim=True)), y).backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
