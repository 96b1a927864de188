"""Clipping before unscaling: gradients are clipped at a four-thousandth of what was meant.

## Story
With a loss scaler, gradients carry its factor, here 4,096, until `unscale_` removes it. Clipping them to a norm of 1
before that clips them to 1/4,096 afterwards; with plain SGD the network stands still.

## What to see
A clip ratio in the thousands at every step, and updates that are next to nothing.

## Source
torch's AMP recipes, "gradient clipping"; DESIGN, clipping-scaled-gradients.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["clipping-scaled-gradients", "gradient-always-clipped", "undersized-update", "stuck-from-start"]],
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def clipping_scaled_gradients(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(200, 64)):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                answers = model(x)
            scaler.scale(cross_entropy(answers.float(), y)).backward()
            if not case.sick:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            if step % 10 == 9:
                validate(monitor, model, task)
            case.look(monitor)
