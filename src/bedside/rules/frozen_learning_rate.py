"""There is a schedule, but the learning rate never changes.

## What it sees
A learning rate that stays the same at every step of a run that has a scheduler.

## Why it matters
A scheduler does nothing until its `step()` is called, and nothing to an optimizer that is not its own. Warm-up
schedulers lower the rate when they are made, so that a forgotten `step()` also leaves it at a small part of its value.

## How it decides
The rate is constant over `steps` steps or more, although a scheduler was made and never stepped (in a finished run, or
one that is past its first epoch), or one was stepped `calls` times whose optimizer is not the one that takes the steps
but holds the same weights, or one that changes the rate at every call was stepped all the time (its floor, `eta_min`,
is where it begins, or something sets the rate back), or the log's settings name a schedule that is not constant
(then `epochs` readings are enough, if they are `most` of the plan). Or one parameter group follows a
schedule and another keeps, for the whole run, a rate below `left` of what that schedule reached: a schedule written by
hand that sets the first group alone. A rate of exactly zero is a way to freeze, and is left alone.

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

from bedside.analysis.progress import share_of_loss_won
from bedside.analysis.schedule import SAME, planned_steps, schedulers
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
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


CALL_IT = "Call scheduler.step() after every optimizer.step() (or once per epoch, if it counts epochs)."
OF_THE_ONE = "Make the scheduler from the optimizer that takes the steps."


@dataclass(frozen=True)
class Limits:
    steps: int = 100  # with the same rate: a schedule per epoch may not have begun before
    epochs: int = 10  # readings, where those are most of the plan: fewer may be printed with too few digits
    most: float = 0.5  # of the plan: by then no schedule is where it began
    calls: int = 3  # of a scheduler that drives an optimizer which is not the one that steps: no slip of the hand
    # of the loss: the rate is no warm-up's, and a decay that waits for a bad epoch has nothing to cure
    won: float = 0.9
    left: float = 0.01  # of the schedule's peak: rates per group on purpose (layer-wise decay, a head) differ by less
    swing: float = 2.0  # highest over lowest rate: what follows a schedule at all
    share: float = 0.2  # of the plan, when a log only names its schedule: warm-up and decay show by then


@rule("LRS105", severity=Severity.WARNING, needs=[LR], limits=Limits())
def frozen_learning_rate(run: Run, limits: Limits) -> Iterator[Finding]:
    rates = run.series(LR.name).finite()
    if left := _left_behind(run, limits):
        yield _of_a_group(run, *left)
        return
    made = schedulers(run)
    if not made:
        raise NotEnough("to know of a scheduler")
    if len(rates) < 2 or np.ptp(rates.values) > SAME * float(np.abs(rates.values).max()):
        return
    if rates.last_step - rates.first_step + 1 < limits.steps and not _most_of_the_plan(run, rates, limits):
        raise NotEnough(f"{limits.steps} steps of lr, has {rates.last_step - rates.first_step + 1}")
    name, why, cure = _accused(run, rates.last, limits)
    if not name:
        return
    harmless = "never stepped" in why and share_of_loss_won(run) > limits.won
    yield frozen_learning_rate.finding(
        f"{name} {why}: the learning rate is {number(rates.last)} at all "
        f"{steps(rates.last_step - rates.first_step + 1, run.axis)}.",
        first_step=rates.first_step,
        last_step=rates.last_step,
        confidence=0.85,
        evidence={"schedulers": [dict(each) for each in made], "rate": rates.last},
        series=[LR.name, LOSS.name],
        severity=Severity.NOTE if harmless else None,
        could_also_be=("A scheduler that is stepped per epoch, in a run that has not finished its first one.",),
        try_=cure,
    )


def _most_of_the_plan(run: Run, rates: Series, limits: Limits) -> bool:
    """A log of epochs need not have many, if they are most of those that its settings plan."""
    counted = any(each.get("stepped") is not None for each in schedulers(run))
    return not counted and len(rates) >= limits.epochs and len(rates) > limits.most * planned_steps(run) > 0


def _left_behind(run: Run, limits: Limits) -> tuple[Series, Series] | None:
    """A parameter group whose rate never changes, far below the peak of a group whose rate follows a schedule."""
    groups = [each for series in (run.series(LR.name), *run.of(LR.name)) if (each := series.finite())]
    groups = [
        each for each in groups if each.last_step - each.first_step + 1 >= limits.steps and each.values.min() >= 0
    ]
    moving = [each for each in groups if each.values.max() > limits.swing * each.values.min()]
    still = [each for each in groups if np.ptp(each.values) <= SAME * each.values.max() and each.values.max() > 0]
    if not moving or not still:
        return None
    leader = max(moving, key=lambda each: float(each.values.max()))
    slowest = min(still, key=lambda each: each.last)
    return (slowest, leader) if slowest.last < limits.left * leader.values.max() else None


def _of_a_group(run: Run, still: Series, moving: Series) -> Finding:
    number_of = int(still.owner.removeprefix("group_")) if still.owner.startswith("group_") else 0
    return frozen_learning_rate.finding(
        f"Parameter group {number_of} keeps a learning rate of {number(still.last)} at all "
        f"{steps(still.last_step - still.first_step + 1, run.axis)}, while that of another group follows a schedule "
        f"up to {number(float(moving.values.max()))}.",
        first_step=still.first_step,
        last_step=still.last_step,
        confidence=0.8,
        evidence={"rate": still.last, "peak_of_the_schedule": float(moving.values.max()), "group": number_of},
        series=[still.key, moving.key, LOSS.name],
        could_also_be=("A part that is fine-tuned at a small, constant rate on purpose.",),
        try_=(
            "Set the rate of every group: for group in optimizer.param_groups: group['lr'] = rate.",
            "Make the optimizer with the peak rate, and let a LambdaLR multiply it in all groups.",
        ),
    )


def _accused(run: Run, rate: float, limits: Limits) -> tuple[str, str, tuple[str, ...]]:
    """The scheduler without an effect, why it has none, and what to do about it."""
    for each in schedulers(run):
        name, calls = str(each.get("name", "")), each.get("stepped")
        if each.get("drives_another_optimizer") and isinstance(calls, int) and calls >= limits.calls:
            why = f"was stepped {calls:,} times, on another optimizer than the one that takes the steps"
            return name, why, (OF_THE_ONE,)
        moving = any(kind in name for kind in ALWAYS_MOVING) and "Plateau" not in name
        if calls == 0 and _had_its_chance(run):
            return name, "was made but never stepped", (CALL_IT, OF_THE_ONE)
        if isinstance(calls, int) and calls >= limits.steps and moving:
            floor = each.get("eta_min")
            if isinstance(floor, int | float) and rate > 0 and abs(floor - rate) <= SAME * rate:
                why = f"begins at its own floor (eta_min = {number(rate)}), so it has nothing to lower"
                return name, why, ("Raise the learning rate that the optimizer is made with, or lower eta_min.",)
            why = f"was stepped {calls:,} times, and something sets the rate back"
            return name, why, ("Look for other code that writes param_group['lr'], and leave it to one.", OF_THE_ONE)
        if calls is None and moving and planned_steps(run) and run.steps > limits.share * planned_steps(run):
            return f"The {name} schedule", "has no effect", (CALL_IT, OF_THE_ONE)
    return "", "", ()


def _had_its_chance(run: Run) -> bool:
    """A scheduler that counts epochs waits for the end of the first one."""
    epochs = run.series(EPOCH.name).finite()
    return bool(run.finished) or (len(epochs) > 0 and epochs.last - float(epochs.values[0]) >= 2)
