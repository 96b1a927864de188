"""Every gradient overflows: the scaler halves its scale until nothing is left.

## Story
Mixed precision with a loss that is summed over everything instead of averaged. The scaled gradient is infinite in
float16, the scaler skips the step and halves the scale; at every step again. Nothing is ever learned.

## What to see
A loss scale that falls by half at each step, skipped updates all the way, and a loss that does not move.

## Source
Micikevicius et al. (2018), Mixed precision training; PyTorch documentation, Automatic mixed precision examples.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["loss-scale-collapse", "nonfinite-gradient", "stuck-from-start"]],
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def loss_scale_collapse(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu")
    factor = 1e30 if case.sick else 1.0
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(200, 64)):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                answers = model(x)
            scaler.scale(cross_entropy(answers.float(), y) * factor).backward()
            scaler.step(optimizer)
            scaler.update()
            if step % 10 == 9:
                validate(monitor, model, task)
            case.look(monitor)
