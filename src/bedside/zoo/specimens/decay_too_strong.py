"""Weight decay a thousand times too strong: the network shrinks away.

## Story
`weight_decay=10` for AdamW, which multiplies every weight by 1 − lr · decay at every step. The gradient cannot keep up;
the weights shrink to a point where every answer is the same.

## What to see
The norm of the weights falls steadily from the first step; the loss stays at, or returns to, chance.

## Source
Krogh and Hertz (1992), A simple weight decay can improve generalization.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="encoder",
    expects=[["shrinking-weights", "stuck-from-start", "loss-at-chance", "underfitting"]],
    severities={"mild": 3.0, "marked": 10.0, "severe": 30.0},
    fault_check=ends_worse("val/accuracy", by=0.1),
)
def decay_too_strong(case: Case) -> None:
    task = data.images(case.seed)
    model = models.Encoder()
    decay = case.severity if case.sick else 0.01
    train(case, model, torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=decay), task, steps=240, batch=32)
