"""The learning rate was not recorded, so nothing about the schedule can be said.

## What it sees
A log with losses and without a learning rate.

## Why it matters
Many turns of a loss curve are turns of the schedule: the end of a warm-up, a drop, a restart. Without the rate on the
same axis, a person or a rule has to guess.

## How it decides
There is a training loss of `readings` or more readings, and no learning rate at all.

## When it is wrong
Never; it is a note.

## What to try
1. Log `scheduler.get_last_lr()[0]` beside the loss, at every step.

## Example
>>> from bedside.testing import a_run
>>> print(*no_learning_rate.check(a_run(loss=[2.0] * 100)))
LRS108 no-learning-rate: The log has 100 losses and no learning rate.

## References
- PyTorch documentation, torch.optim.lr_scheduler: `get_last_lr`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, LR
from bedside.rules.base import rule
from bedside.wording import count


@dataclass(frozen=True)
class Limits:
    readings: int = 20  # of the loss: fewer are not a curve


@rule("LRS108", severity=Severity.NOTE, needs=[LOSS], limits=Limits())
def no_learning_rate(run: Run, limits: Limits) -> Iterator[Finding]:
    if run.has(LR.name) or run.owners(LR.name) or len(run.loss) < limits.readings:
        return
    yield no_learning_rate.finding(
        f"The log has {count(len(run.loss))} losses and no learning rate.",
        first_step=run.loss.first_step,
        last_step=run.loss.last_step,
        confidence=0.99,
        evidence={"losses": len(run.loss)},
        try_=("Log scheduler.get_last_lr()[0] (or optimizer.param_groups[0]['lr']) beside the loss, at every step.",),
    )
