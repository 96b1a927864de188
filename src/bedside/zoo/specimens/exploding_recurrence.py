"""A recurrent network without clipping: one unlucky batch, and the gradient explodes through time.

## Story
The gradient of a recurrent network is a product over time steps, and now and then that product is huge. Clipping was
taken out of the loop; sooner or later one step throws the recurrent weights to where every product is huge.

## What to see
Gradient norms that leap by decades between neighbouring steps; the loss leaves at the same step.

## Source
Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="LSTM",
    expects=[["exploding-gradient", "loss-spike", "oversized-update", "diverging-loss", "nonfinite-loss"]],
    severities={"mild": 50.0, "marked": 200.0, "severe": math.inf},
    onset=lambda run: int(np.argmax(~(run.series("grad_norm").values < 20))),
    fault_check=ends_worse("val/loss", by=0.3),
)
def exploding_recurrence(case: Case) -> None:
    task = data.text(case.seed)
    model = models.Recurrent(lambda *sizes, **kw: nn.RNN(*sizes, nonlinearity="relu", **kw))
    nn.init.orthogonal_(model.cell.weight_hh_l0)
    threshold = case.severity if case.sick else 1.0
    train(case, model, torch.optim.SGD(model.parameters(), lr=3.0), task, steps=300, batch=16, clip=threshold)
