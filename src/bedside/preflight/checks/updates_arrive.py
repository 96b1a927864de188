"""The optimizer's own step really changes the weights.

## What it sees
Weights that have a gradient and are, after one step of your optimizer, what they were to the last bit.

## Why it matters
An update that is smaller than half the distance to the next number that the format can hold is rounded away. Weights in
bfloat16 hold three digits: a learning rate of 1e-5 then trains nothing, and no error is raised. The same happens to any
format when the rate is small enough.

## How it decides
One step on the first batch. Failed when more than `share` of the numbers that have a gradient are unchanged. At a rate
of zero (a warm-up that begins there) it is not examined.

## When it is wrong
Optimizers that update some of the weights at a time, or only every few steps.

## What to try
1. Weights in float32, computing under `torch.autocast`.
2. A larger learning rate.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> print(examined(updates_arrive, optimizer=lambda model: torch.optim.SGD(model.parameters(), lr=1e-9)))
PRE307 updates-arrive: One step of SGD at 1e-9 leaves > 99 % of the weights that have a gradient as they were.

## References
- Zamirai et al. (2020), Revisiting bfloat16 training: nearest rounding swallows small updates.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, OPTIMIZER, Setup
from bedside.wording import listed, number, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the weights: when most of a step is rounded away, the rest is another step


@check("PRE307", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT, OPTIMIZER])
def updates_arrive(setup: Setup, limits: Limits) -> Passed | Finding:
    optimizer = setup.needed_optimizer()
    groups = [group for group in optimizer.param_groups if float(group["lr"]) > 0]
    if not groups:
        raise NotEnough("a learning rate above zero at the first step")
    held = {id(each) for group in groups for each in group["params"]}
    named = {name: each for name, each in setup.trainable.items() if id(each) in held}
    before = {name: each.detach().clone() for name, each in named.items()}
    setup.training.train_mode()
    try:
        setup.training.step_on([setup.batch()])
    except TypeError:
        raise NotEnough("an optimizer whose step() needs no closure") from None
    still = total = 0
    lost: list[str] = []
    for name, each in named.items():
        if each.grad is None:
            continue
        moved = each.grad != 0
        unmoved = int((moved & (each.detach() == before[name])).sum())
        still, total = still + unmoved, total + int(moved.sum())
        if unmoved > limits.share * int(moved.sum()):
            lost.append(name)
    if not total:
        raise NotEnough("a gradient that is not zero (see PRE301)")
    rates = sorted({float(group["lr"]) for group in groups})
    numbers = {"unchanged": still / total, "weights": total, "learning_rates": rates}
    if still <= limits.share * total:
        return updates_arrive.passed(f"a step changes {percent(1 - still / total)} of the weights", **numbers)
    return updates_arrive.finding(
        f"One step of {type(optimizer).__name__} at {listed(map(number, rates))} leaves {percent(still / total)} of "
        "the weights that have a gradient as they were.",
        where=lost,
        confidence=0.85,
        evidence=numbers,
        could_also_be=("An optimizer that updates some weights at a time.",),
        try_=("Keep weights in float32 and compute under torch.autocast, or raise the learning rate.",),
    )
