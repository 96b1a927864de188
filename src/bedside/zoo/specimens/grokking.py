"""Grokking: by heart first, understood later.

## Story
Addition modulo 31, two fifths of the table held out, strong weight decay. The network learns the rest by heart at once,
while its held-out answers are worse than chance. Then it finds the rule, and the gap closes.

## What to see
Training loss near zero early, validation loss far above chance for a long time, then a fall of validation alone.

## Source
Power et al. (2022), Grokking; the network is that of Gromov (2023), Grokking modular arithmetic.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo import data
from bedside.zoo.specimen import Case, lookalike
from bedside.zoo.training_loop import train

MODULUS = 31


class Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x


@lookalike(kind="MLP")
def grokking(case: Case) -> None:
    pairs = torch.cartesian_prod(torch.arange(MODULUS), torch.arange(MODULUS))
    sums = pairs.sum(1) % MODULUS
    shown = F.one_hot(pairs, MODULUS).flatten(1).float()
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(case.seed))
    known, held_out = order[: len(order) * 6 // 10], order[len(order) * 6 // 10 :]
    task = data.Task(shown[known], sums[known], shown[held_out], sums[held_out], shuffle=False)
    model = nn.Sequential(nn.Linear(2 * MODULUS, 128, bias=False), Square(), nn.Linear(128, MODULUS, bias=False))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=2.0)
    train(case, model, optimizer, task, steps=320, batch=len(task))
