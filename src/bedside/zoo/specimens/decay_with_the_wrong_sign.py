"""Weight decay with the wrong sign: the weights grow without end.

## Story
A decay written by hand adds a share of each weight instead of taking it away. Weights grow exponentially; the loss
looks good for a while, since a confident network is right most of the time.

## What to see
The norm of the weights grows faster and faster; then the loss follows.

## Source
Loshchilov and Hutter (2019), Decoupled weight decay regularization: the sign that it must have.
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.fault_check import ends_higher
from bedside.zoo.specimen import Case, specimen
from bedside.zoo.training_loop import cross_entropy, validate


@specimen(
    kind="MLP",
    expects=[["runaway-weights", "diverging-loss", "exploding-gradient", "growing-activations"]],
    severities={"mild": 0.01, "marked": 0.02, "severe": 0.05},
    fault_check=ends_higher("param_norm", times=5),
)
def decay_with_the_wrong_sign(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 128, 64, 10])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    growth = case.severity if case.sick else -1e-4
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(300, 64)):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(1 + growth)
            if step % 15 == 14:
                validate(monitor, model, task)
            case.look(monitor)
