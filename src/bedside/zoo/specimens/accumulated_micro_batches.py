"""Gradient accumulation done right, with clipping and a warm-up.

## Story
Four micro-batches per step, each loss divided by four, clipped at 1, a warm-up and a cosine: an ordinary recipe, whose
several backward passes per step must not be taken for forgotten `zero_grad` calls.

## What to see
Four backward passes a step; a gradient norm that does not depend on their number.

## Source
The survey: transformers#34191 and the many loops that do it right.
"""

from __future__ import annotations

import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, validate


@lookalike(kind="GPT")
def accumulated_micro_batches(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT(width=32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 180)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=20)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], [20])
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(200, 16)):
            optimizer.zero_grad()
            for x_part, y_part in zip(x.chunk(4), y.chunk(4), strict=True):
                (cross_entropy(model(x_part), y_part) / 4).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            if step % 10 == 9:
                validate(monitor, model, task)
            case.look(monitor)
