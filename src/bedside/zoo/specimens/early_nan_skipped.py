"""A scaler that finds its scale: the first steps overflow and are skipped, as they should be.

## Story
Mixed precision starts with a loss scale that is too high on purpose. The first gradients are infinite, those steps are
skipped, the scale is halved until it fits, and training begins.

## What to see
Non-finite gradient norms at the first few steps and never again; a scale that settles; a good loss.

## Source
Micikevicius et al. (2018), Mixed precision training: a scaler skips such steps.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, validate


@lookalike(kind="MLP")
def early_nan_skipped(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=1000)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                answers = model(x)
            scaler.scale(cross_entropy(answers.float(), y)).backward()
            scaler.step(optimizer)
            scaler.update()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
