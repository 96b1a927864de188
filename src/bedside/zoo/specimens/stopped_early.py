"""Stopped while still falling: short, not sick.

## Story
A GPT run that was given a hundred and fifty steps and could have used a thousand. It is doing fine.

## What to see
A loss that falls to the last step; a validation loss that falls with it.

## Source
DESIGN, still-falling: a note, never an alarm.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train


@lookalike(kind="GPT")
def stopped_early(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT()
    train(case, model, torch.optim.AdamW(model.parameters(), lr=1e-3), task, steps=150, batch=12)
