"""There is a schedule, but the learning rate never changes.

## What it sees
A learning rate that stays the same at every step of a run that has a scheduler.

## Why it matters
A scheduler does nothing until its `step()` is called, and nothing to an optimizer that is not its own. Warm-up
schedulers lower the rate when they are made, so that a forgotten `step()` also leaves it at a small part of its value.

## How it decides
The rate is constant over `steps` steps or more, although a scheduler was made and never stepped (in a finished run, or
one that is past its first epoch), or one was stepped `calls` times whose optimizer is not the one that takes the steps
but holds the same weights, or one that changes the rate at every call was stepped all the time (then it belongs to
another optimizer), or the log's settings name a schedule that is not constant.

## When it is wrong
Schedulers that wait for a metric, or for a step that this run does not reach.

## What to try
1. Call `scheduler.step()` after `optimizer.step()`.
2. Make the scheduler from the optimizer that is really used.

## Example
>>> from bedside.testing import a_run
>>> made = {"schedulers": [{"name": "CosineAnnealingLR", "stepped": 0}]}
>>> print(*frozen_learning_rate.check(a_run(loss=[2.0] * 300, lr=1e-3, config=made, finished=True)))
LRS105 frozen-learning-rate: CosineAnnealingLR was made but never stepped: the learning rate is 0.001 at all 300 steps.

## References
- PyTorch documentation, torch.optim.lr_scheduler: how to adjust the learning rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.schedule import SAME, planned_steps, schedulers
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import EPOCH, LOSS, LR
from bedside.rules.base import rule
from bedside.wording import number, steps

ALWAYS_MOVING = (
    "Cosine",
    "OneCycle",
    "Linear",
    "Exponential",
    "Polynomial",
    "Cyclic",
    "linear",
    "cosine",
    "polynomial",
)


@dataclass(frozen=True)
class Limits:
    steps: int = 100  # with the same rate: a schedule per epoch may not have begun before
    calls: int = 3  # of a scheduler that drives an optimizer which is not the one that steps: no slip of the hand
    share: float = 0.2  # of the plan, when a log only names its schedule: warm-up and decay show by then


@rule("LRS105", severity=Severity.WARNING, needs=[LR], limits=Limits())
def frozen_learning_rate(run: Run, limits: Limits) -> Iterator[Finding]:
    rates = run.series(LR.name).finite()
    made = schedulers(run)
    if not made:
        raise NotEnough("to know of a scheduler")
    if len(rates) < 2 or np.ptp(rates.values) > SAME * float(np.abs(rates.values).max()):
        return
    if rates.last_step - rates.first_step + 1 < limits.steps:
        raise NotEnough(f"{limits.steps} steps of lr, has {rates.last_step - rates.first_step + 1}")
    name, why = _accused(run, limits)
    if not name:
        return
    yield frozen_learning_rate.finding(
        f"{name} {why}: the learning rate is {number(rates.last)} at all "
        f"{steps(rates.last_step - rates.first_step + 1, run.axis)}.",
        first_step=rates.first_step,
        last_step=rates.last_step,
        confidence=0.85,
        evidence={"schedulers": [dict(each) for each in made], "rate": rates.last},
        series=[LR.name, LOSS.name],
        could_also_be=("A scheduler that is stepped per epoch, in a run that has not finished its first one.",),
        try_=(
            ""
            if "another optimizer" in why
            else "Call scheduler.step() after every optimizer.step() (or once per epoch, if it counts epochs).",
            "Make the scheduler from the optimizer that takes the steps.",
        ),
    )


def _accused(run: Run, limits: Limits) -> tuple[str, str]:
    for each in schedulers(run):
        name, calls = str(each.get("name", "")), each.get("stepped")
        if each.get("drives_another_optimizer") and isinstance(calls, int) and calls >= limits.calls:
            return name, f"was stepped {calls:,} times, on another optimizer than the one that takes the steps"
        moving = any(kind in name for kind in ALWAYS_MOVING) and "Plateau" not in name
        if calls == 0 and _had_its_chance(run):
            return name, "was made but never stepped"
        if isinstance(calls, int) and calls >= limits.steps and moving:
            return name, f"was stepped {calls:,} times, on another optimizer"
        if calls is None and moving and planned_steps(run) and run.steps > limits.share * planned_steps(run):
            return f"The {name} schedule", "has no effect"
    return "", ""


def _had_its_chance(run: Run) -> bool:
    """A scheduler that counts epochs waits for the end of the first one."""
    epochs = run.series(EPOCH.name).finite()
    return bool(run.finished) or (len(epochs) > 0 and epochs.last - float(epochs.values[0]) >= 2)
