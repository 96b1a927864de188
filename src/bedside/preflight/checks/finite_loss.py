"""The loss and its gradients are finite on the first batches.

## What it sees
NaN or infinity in the loss of one of the first batches, or in the gradient of a parameter.

## Why it matters
One such step makes every weight NaN. A logarithm of zero, a root at zero, a division by an empty mask or an overflow in
half precision shows in the first batches more often than not.

## How it decides
Forward and backward on each of the first `batches` batches, in training mode and in the precision of the loop.

## When it is wrong
With a GradScaler, an overflow in the first steps is part of the plan: the gradients are looked at unscaled.

## What to try
1. `print(bedside.lab.nan_hunt(model, train_loader, loss_fn, optimizer))`: the operation and its line.
2. clamp before log, a small number under a root and in a denominator.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> def by_hand(output, target):
...     chosen = torch.relu(output)[torch.arange(len(target)), target]
...     return -chosen.log().mean()
>>> print(examined(finite_loss, loss_fn=by_hand))
PRE109 finite-loss: The loss of training batch 0 is inf.

## References
- Goldberg (1991), What every computer scientist should know about floating-point arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, Setup
from bedside.training.nonfinite.values import is_finite
from bedside.wording import listed, number, plural


@dataclass(frozen=True)
class Limits:
    batches: int = 4  # forward and backward on each


@check("PRE109", severity=Severity.ERROR, limits=Limits(), needs=[GRADIENT])
def finite_loss(setup: Setup, limits: Limits) -> Passed | Finding:
    setup.training.train_mode()
    named = setup.trainable
    losses = []
    for place in range(min(limits.batches, len(setup.batches))):
        loss = setup.training.batch_loss(setup.batch(place))
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            return _finding(f"The loss of training batch {place} is {number(losses[-1])}.", [])
        found = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        bad = [name for name, each in zip(named, found, strict=True) if each is not None and not is_finite(each)]
        if bad:
            return _finding(f"The gradient of {listed(bad)} is not finite in training batch {place}.", bad)
    looked = plural(len(losses), "batch") if len(losses) == 1 else f"{len(losses)} batches"
    return finite_loss.passed(f"{looked}: losses {listed(map(number, losses))}", losses=losses)


def _finding(message: str, where: list[str]) -> Finding:
    return finite_loss.finding(
        message,
        where=where,
        confidence=0.95,
        could_also_be=("NaN or Inf in the data (PRE201).",),
        try_=(
            "print(bedside.lab.nan_hunt(model, train_loader, loss_fn, optimizer)): the operation and its line.",
            "clamp before log, a small number under a root and in a denominator.",
        ),
    )
