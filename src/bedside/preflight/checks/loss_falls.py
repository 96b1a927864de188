"""A small step against the gradient makes the loss smaller, and the optimizer's own first step does not blow it up.

## What it sees
A loss that rises, or stays, when the weights move a little against its gradient; a first step of the optimizer after
which the loss of the same batch is several times what it was.

## Why it matters
For a small enough step this is a matter of calculus. Where it fails, the gradient is not that of the loss: a custom
backward, a value overwritten in place, a graph cut in the middle. And a first step that multiplies the loss shows the
learning rate before a night is spent on it.

## How it decides
Without dropout and with the same random numbers each time, the loss of the first batch is taken before and after steps
that should lower it by `shares` of itself. One that falls is enough. Then the optimizer takes one step of its own: more
than `worse` times the loss before (or the loss of a guess, if that is higher) is too far.

## When it is wrong
Straight-through estimators (quantised or binary weights, hard gates), whose gradient is not that of the loss by design.

## What to try
1. Check custom backward functions with `torch.autograd.gradcheck`.
2. Divide the learning rate by ten, or warm up, where it is the optimizer's step.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> print(examined(loss_falls, optimizer=lambda model: torch.optim.SGD(model.parameters(), lr=100.0)))
PRE105 loss-falls: One step of SGD at 100 takes the loss of the same batch from 1.07 to 248.

## References
- Karpathy (2019), A recipe for training neural networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.chance import guess
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, Setup
from bedside.training.modes import without_dropout
from bedside.training.random_state import save_random_state
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    largest: float = 0.01  # of the loss: what the first, largest step should win
    tries: int = 4  # steps, each a tenth of the one before: curvature has no say in the last
    worse: float = 10.0  # times the loss: healthy first steps, Adam's at its usual rates too, stay far below
    measurable: float = 1e-6  # of the loss: about what float32 can tell


@check("PRE105", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT])
def loss_falls(setup: Setup, limits: Limits) -> Passed | Finding:
    batch = setup.batch()
    without_dropout(setup.model)
    same_numbers = save_random_state()

    def loss_now() -> float:
        same_numbers()
        with torch.no_grad():
            return float(setup.loss(batch))

    before = loss_now()
    if not math.isfinite(before):
        raise NotEnough("a first loss that is finite")
    after = _small_steps(setup, batch, loss_now, before, same_numbers, limits)
    if after is None:
        return loss_falls.finding(
            f"No small step against the gradient lowers the loss of {number(before, 4)}: it is not the gradient of it.",
            severity=Severity.ERROR,
            confidence=0.85,
            evidence={"before": before},
            could_also_be=("A straight-through estimator: hard gates, quantised or binary weights.",),
            try_=("torch.autograd.gradcheck for custom backward functions; look for in-place changes and .detach().",),
        )
    own = _own_step(setup, loss_now)
    evidence = {"before": before, "after": after, "after_own_step": own}
    reference = max(before, guess(setup) or before)
    if own is not None and setup.optimizer is not None and not own <= limits.worse * reference and before > 0:
        rates = sorted({float(group["lr"]) for group in setup.optimizer.param_groups})
        return loss_falls.finding(
            f"One step of {type(setup.optimizer).__name__} at {', '.join(map(number, rates))} takes the loss of the "
            f"same batch from {number(before)} to {number(own)}.",
            confidence=0.85,
            evidence=evidence | {"learning_rates": rates},
            try_=(
                f"Lower the learning rate to about {number(rates[-1] / 10, 1)}, or warm up from there.",
                "bedside.lab.lr_range(model, loader, loss_fn, optimizer) finds the rate.",
            ),
        )
    with_own = "" if own is None else f"; {number(own)} after a step of the optimizer"
    return loss_falls.passed(f"{number(before, 4)} → {number(after, 4)} along the gradient{with_own}", **evidence)


def _small_steps(
    setup: Setup,
    batch: object,
    loss_now: Callable[[], float],
    before: float,
    same_numbers: Callable[[], object],
    limits: Limits,
) -> float | None:
    """The loss after the first small step that lowers it; None if none does."""
    parameters = list(setup.trainable.values())
    same_numbers()
    found = torch.autograd.grad(setup.loss(batch), parameters, allow_unused=True)
    gradients = [torch.zeros_like(each) if g is None else g for each, g in zip(parameters, found, strict=True)]
    square = sum(float(each.double().square().sum()) for each in gradients)
    if not square > 0 or not math.isfinite(square):
        raise NotEnough("a gradient that is finite and not zero (see PRE301)")
    origin = [each.detach().clone() for each in parameters]
    share = limits.largest
    for _ in range(limits.tries):
        size = share * max(abs(before), 1e-3) / square
        with torch.no_grad():
            for each, start, gradient in zip(parameters, origin, gradients, strict=True):
                each.copy_(start - size * gradient)
        after = loss_now()
        if after < before - limits.measurable * abs(before):
            break
        share /= 10
    else:
        after = math.nan
    with torch.no_grad():
        for each, start in zip(parameters, origin, strict=True):
            each.copy_(start)
    return None if math.isnan(after) else after


def _own_step(setup: Setup, loss_now: Callable[[], float]) -> float | None:
    """The loss of the same batch after one step of the user's optimizer; None where it cannot be taken like that."""
    if setup.optimizer is None:
        return None
    try:
        setup.training.step_on([setup.batch()])
    except TypeError:  # LBFGS and others, which call the loss themselves
        return None
    return loss_now()
