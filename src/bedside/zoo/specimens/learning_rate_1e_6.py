"""Learning rate 1e-6: the network hardly moves.

## Story
The same digits MLP with a learning rate so small that three hundred steps change
nothing. People wait for hours in front of such a curve.

## What to see
A flat loss at ln 10 = 2.303 with healthy gradients; relative updates far below 1e-5.

## Source
Goodfellow, Bengio and Courville (2016), Deep Learning, section 11.4: the learning rate is the hyperparameter to tune
first.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_worse
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import train


@specimen(
    kind="MLP",
    expects=[["undersized-update", "stuck-from-start", "vanished-learning-rate", "loss-at-chance"]],
    severities={"mild": 1e-5, "marked": 1e-6, "severe": 1e-8},
    fault_check=ends_worse("val/accuracy", by=0.3),
)
def learning_rate_1e_6(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    rate = case.severity if case.sick else 0.1
    train(case, model, torch.optim.SGD(model.parameters(), lr=rate), task)
