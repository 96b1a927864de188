"""Dropout as a function, which does not know the mode: it drops in evaluation as well.

## Story
`F.dropout(x, 0.5)` stands in `forward`. `model.eval()` is called before every evaluation, as it should be, and changes
nothing: the function drops by default.

## What to see
A validation loss above that of the same network without dropout, another one each time it is asked; a dropout function
at work while the model is in evaluation mode.

## Source
PyTorch documentation, torch.nn.functional.dropout: `training=True` is the default.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.zoo import data
from bedside.zoo.fault_check import ends_higher, first_evaluation
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


class Dropping(nn.Module):
    """Two layers with a dropout between them, that follows the mode or does not."""

    def __init__(self, always: bool) -> None:
        super().__init__()
        self.first, self.head, self.always = nn.Linear(64, 96), nn.Linear(96, 10), always

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu(self.first(x))
        return self.head(F.dropout(hidden, 0.5, training=self.always or self.training))


@specimen(
    kind="MLP",
    expects=[["stochastic-evaluation"]],
    onset=first_evaluation,
    fault_check=ends_higher("val/loss", times=1.2),
)
def dropout_in_evaluation(case: Case) -> None:
    task = data.digits(case.seed)
    model = Dropping(always=case.sick)
    train(case, model, torch.optim.Adam(model.parameters(), lr=2e-3), task, steps=260)
