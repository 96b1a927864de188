"""float16 without a scaler: 65,504 is the largest number there is.

## Story
Activations pass the largest number of float16 and become infinite. With bfloat16, or with activations that are kept
small by a norm, nothing happens.

## What to see
A first infinity in an activation, NaN in the loss and everything else right after it.

## Source
Micikevicius et al. (2018), Mixed precision training.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import is_lost
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["nonfinite-loss", "nonfinite-gradient", "nonfinite-activation", "nonfinite-weights"]],
    onset=lambda run: int(np.argmin(np.isfinite(run.loss.values))),
    fault_check=is_lost,
)
def nan_fp16_overflow(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    kind = torch.float16 if case.sick else torch.bfloat16
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(200, 32)):
            loudness = 1.0 + step**2  # a gain that somebody schedules upwards
            with torch.autocast("cpu", dtype=kind):
                hidden = model[:4](x) * loudness
                answers = model[4](hidden * 4).float() / (4 * loudness)
            optimizer.zero_grad()
            cross_entropy(answers, y).backward()
            optimizer.step()
            if step % 10 == 9:
                validate(monitor, model, task)
            case.look(monitor)
