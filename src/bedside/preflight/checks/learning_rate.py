"""Every group of parameters has a learning rate, and the scheduler changes the one that is used.

## What it sees
A rate of zero, negative or not finite in a group that has trainable parameters; a scheduler that was made for another
optimizer.

## Why it matters
A rate of zero freezes a part of the network without a word. A scheduler of another optimizer, typically one that was
replaced, moves numbers that nobody reads: the schedule in the code never happens.

## How it decides
The groups of the optimizer as they are, and over the first `steps` steps of the schedule if one was given: a warm-up
may begin at zero. Log `optimizer.param_groups[i]["lr"]` at every step; `bedside.watch` does.

## When it is wrong
A group that is switched on later by hand.

## What to try
1. `scheduler = Scheduler(optimizer)` after the last time that the optimizer is made.
2. Freeze by `requires_grad_(False)`, not by a rate of zero.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> groups = lambda model: [{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2].parameters()}]
>>> print(examined(learning_rate, optimizer=lambda model: torch.optim.SGD(groups(model), lr=0.1)))
PRE306 learning-rate: The learning rate of group 0 (0.weight, 0.bias) is 0: it will not learn.

## References
- PyTorch documentation, torch.optim: how to adjust learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.schedule_preview import rates_of
from bedside.preflight.setup import OPTIMIZER, Setup
from bedside.training.step import real_optimizer
from bedside.wording import listed, number


@dataclass(frozen=True)
class Limits:
    steps: int = 100  # of the schedule: a warm-up has left zero by then


@check("PRE306", severity=Severity.ERROR, limits=Limits(), needs=[OPTIMIZER])
def learning_rate(setup: Setup, limits: Limits) -> Passed | Finding:
    scheduler = setup.scheduler
    driven = real_optimizer(getattr(scheduler, "optimizer", None)) if scheduler is not None else None
    if driven is not None and not any(driven is each for each in setup.optimizers):
        return learning_rate.finding(
            f"The {type(scheduler).__name__} was made for another optimizer: this one's learning rate will not change.",
            confidence=0.97,
            try_=(f"Make it again: {type(scheduler).__name__}(optimizer, …), after the optimizer is made.",),
        )
    groups = [group for optimizer in setup.optimizers for group in optimizer.param_groups]
    begins = [float(group["lr"]) for group in groups]
    curves = rates_of(scheduler, limits.steps) if driven is not None and len(setup.optimizers) == 1 else []
    highest = [max([begin, *(each[place] for each in curves)]) for place, begin in enumerate(begins)]
    for place, group in enumerate(groups):
        if any(p.requires_grad for p in group["params"]) and not (math.isfinite(highest[place]) and highest[place] > 0):
            names = _names(setup, group["params"])
            return learning_rate.finding(
                f"The learning rate of group {place} ({listed(names)}) is {number(highest[place])}: it will not learn.",
                where=names,
                confidence=0.9,
                evidence={"rates": begins},
                try_=("Give the group a learning rate, or freeze it by requires_grad_(False).",),
            )
    shown = listed(map(number, begins))
    later = f", {listed(map(number, curves[-1]))} after {len(curves)} steps of the schedule" if curves else ""
    return learning_rate.passed(f"{shown} at the first step{later}", rates=begins)


def _names(setup: Setup, parameters: Sequence[Any]) -> list[str]:
    held = {id(each) for each in parameters}
    return [name for name, each in setup.trainable.items() if id(each) in held] or ["parameters of another model"]
