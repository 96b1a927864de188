"""The scheduler is stepped before the optimizer's first step, so the schedule runs one place ahead.

## What it sees
`scheduler.step()` was called before the first `optimizer.step()`.

## Why it matters
The first learning rate of the schedule is never used, and everything after it comes one call early: with one call per
epoch that is a whole epoch.

## How it decides
By the order of the two calls at the beginning of the run. A scheduler that is called once per micro-batch is called
before the first step of several, and may be meant so; scheduler-per-batch judges that.

## When it is wrong
A gradient scaler skipped the first steps: then the optimizer was not called, though the loop is right.

## What to try
1. `scheduler.step()` after `optimizer.step()`, or at the end of the epoch.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> early = Event(0, "scheduler_before_optimizer", {"scheduler": "StepLR"})
>>> print(*scheduler_before_optimizer.check(a_run(loss=1.0, lr=0.1, events=[Event(0, "coverage"), early])))
LOP105 scheduler-before-optimizer: StepLR was stepped before the first optimizer step: it runs one place ahead.

## References
- PyTorch documentation, torch.optim: since 1.1.0 the optimizer is stepped before the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.scheduler_calls import scheduler_calls
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LR, SKIPPED
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    """One call comes before the other or it does not: nothing to set."""


@rule("LOP105", severity=Severity.WARNING, needs=[], limits=Limits())
def scheduler_before_optimizer(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the order of scheduler and optimizer (a watched run)")
    early = run.events_of("scheduler_before_optimizer")
    first_skipped = run.series(SKIPPED.name).head(1).values.any()
    accumulates = any(each.per == "micro-batch" for each in scheduler_calls(run))
    if not early or first_skipped or accumulates:
        return
    name = early[0].data.get("scheduler", "The scheduler")
    yield scheduler_before_optimizer.finding(
        f"{name} was stepped before the first optimizer step: it runs one place ahead.",
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.9,
        evidence={"scheduler": name},
        series=[LR.name],
        try_=("Call scheduler.step() after optimizer.step(), or at the end of each epoch.",),
    )
