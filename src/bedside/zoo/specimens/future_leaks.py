"""A GPT without its causal mask copies the next character instead of predicting it.

## Story
`is_causal=False` in one place. The next character stands one position further on, and attention simply looks at it.
The loss falls below anything language allows, in training and in validation.

## What to see
A loss of a few hundredths on text, where a good model of this size ends near 2.

## Source
A classic: the survey's pre-flight tools check causality for it.
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
    fault_check=ends_lower("val/loss", times=0.5),
)
def future_leaks(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT(causal=not case.sick)
    train(case, model, torch.optim.AdamW(model.parameters(), lr=3e-3), task, steps=400, batch=12)
