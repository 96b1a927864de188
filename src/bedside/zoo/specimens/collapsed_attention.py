"""Queries and keys a hundred times too large: each position looks at one other and nowhere else.

## Story
The scores are not divided by the square root of the head's size, and queries and keys start far too large. The softmax
is a hard choice from the first step; its slope is zero, so the choice cannot be unlearned.

## What to see
Attention entropy near zero in every head; gradients of queries and keys next to nothing.

## Source
Zhai et al. (2023), Stabilizing transformer training by preventing attention entropy collapse.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="GPT",
    expects=[["collapsed-attention"]],
    severities={"mild": 15.0, "marked": 30.0, "severe": 100.0},
    fault_check=ends_worse("val/loss", by=0.03),
)
def collapsed_attention(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT()
    gain = case.severity if case.sick else 1.0
    with torch.no_grad():
        for block in model.blocks:
            block.attention.qkv.weight[: 2 * 48] *= gain
    train(case, model, torch.optim.AdamW(model.parameters(), lr=3e-3), task, steps=300, batch=12)
