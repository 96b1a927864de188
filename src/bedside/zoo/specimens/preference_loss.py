"""A preference loss that starts at ln 2 and falls: that level is where it has to start.

## Story
Direct preference optimisation compares a policy with its own frozen copy, so the loss begins at exactly ln 2, as chance
would, and falls from there as the preferred answers win.

## What to see
A first loss of 0.693 to the third digit; reward margins that grow from zero.

## Source
Rafailov et al. (2023), Direct preference optimization.
"""

from __future__ import annotations

import copy

import torch
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import validate


@lookalike(kind="policy")
def preference_loss(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    frozen = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, chosen) in enumerate(task.batches(300, 64)):
            rejected = (chosen + torch.randint(1, 10, chosen.shape)) % 10
            gains = F.log_softmax(model(x), 1) - F.log_softmax(frozen(x), 1)
            margin = gains.gather(1, chosen[:, None]) - gains.gather(1, rejected[:, None])
            optimizer.zero_grad()
            (-F.logsigmoid(0.5 * margin)).mean().backward()
            optimizer.step()
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
