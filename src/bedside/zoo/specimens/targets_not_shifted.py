"""The model is asked for the character that it is shown: the targets were never moved by one.

## Story
`loss(model(x), x)` instead of the next characters. The network learns to copy in a few dozen steps, the loss goes to
nothing, and what it writes is one letter for ever.

## What to see
Targets that are equal to the inputs at the same place; a loss far below what text of this kind allows.

## Source
Karpathy (2022), nanoGPT: the targets are the inputs moved by one.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_lower
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="GPT",
    expects=[["leaked-answer", "suspiciously-perfect"]],
    fault_check=ends_lower("val/loss", times=0.3),
)
def targets_not_shifted(case: Case) -> None:
    task = data.text(case.seed)
    if case.sick:
        task = task.with_(y=task.x, y_val=task.x_val)
    model = models.GPT()
    train(case, model, torch.optim.AdamW(model.parameters(), lr=3e-3), task, steps=240, batch=16)
