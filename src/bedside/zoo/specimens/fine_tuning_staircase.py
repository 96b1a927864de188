"""Fine-tuning for three epochs: the training loss falls in stairs, one per epoch.

## Story
A GPT that already knows the text is tuned on a small part of it. Within an epoch every piece is new and the loss is
level; at each new epoch the pieces are old acquaintances and the loss drops by a step.

## What to see
A staircase with its edges at the epochs; a validation loss that is level.

## Source
The corpus' epoch staircases in fine-tuning; fast.ai's note on learning from a single example (2023).
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import cross_entropy, train


@lookalike(kind="GPT")
def fine_tuning_staircase(case: Case) -> None:
    task = data.text(case.seed)
    model = models.GPT()
    before = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for x, y in task.batches(250, 12):
        before.zero_grad()
        cross_entropy(model(x), y).backward()
        before.step()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train(case, model, optimizer, task.first(600), steps=150, batch=12)
