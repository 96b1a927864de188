"""The run ended while its learning-rate schedule was still on the way down.

## What it sees
A finished run whose schedule was made for clearly more steps than the run took.

## Why it matters
The last part of a decaying schedule is where the loss falls most per step; a run that stops before it is worse than a
shorter run with a shorter schedule.

## How it decides
Only for runs that ended by themselves and whose planned number of steps is known: less than `share` of the plan was
run, and the rate is still above `high` of its peak and falling.

## When it is wrong
Early stopping, and runs that are going to be resumed.

## What to try
1. Give the schedule the number of steps that the run really takes, or run it to its end.

## Example
>>> from bedside.testing import a_run
>>> rate = [1e-3 * (1 - k / 1000) for k in range(400)]
>>> print(*unfinished_schedule.check(a_run(loss=[1.0] * 400, lr=rate, config={"max_steps": 1000}, finished=True)))
LRS103 unfinished-schedule: The run ended after 400 of 1,000 planned steps, with the learning rate still at 60 % of \
its peak.

## References
- Hoffmann et al. (2022), Training compute-optimal large language models: the schedule should match the run's length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.schedule import planned_steps, read_schedule
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, LR
from bedside.rules.base import rule
from bedside.wording import count, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.8  # of the plan: the end of a cosine or a line is still missing
    high: float = 0.3  # of the peak: below it most of the gain of the decay has been had
    readings: int = 20  # the last ten show whether the rate still falls


@rule("LRS103", severity=Severity.WARNING, needs=[LR], limits=Limits(), preview_since="0.1")
def unfinished_schedule(run: Run, limits: Limits) -> Iterator[Finding]:
    plan = planned_steps(run)
    schedule = read_schedule(run)
    if schedule is None:
        return
    if not plan or not run.finished:
        raise NotEnough("a finished run whose planned steps are known")
    rates = schedule.rates
    falling = len(rates) >= limits.readings and rates.last < 0.99 * float(rates.values[-limits.readings // 2])
    height = rates.last / schedule.peak
    if run.steps > limits.share * plan or height < limits.high or not falling:
        return
    yield unfinished_schedule.finding(
        f"The run ended after {count(run.steps)} of {count(plan)} planned steps, with the learning rate still at "
        f"{percent(height)} of its peak.",
        first_step=rates.last_step,
        last_step=rates.last_step,
        confidence=0.7,
        evidence={"steps": run.steps, "planned": plan, "height": height},
        series=[LR.name, LOSS.name],
        could_also_be=("Early stopping, or a run that will be resumed: then nothing is wrong.",),
        try_=(
            f"Make the schedule {count(run.steps)} steps long instead of {count(plan)}, or run the remaining "
            f"{count(plan - run.steps)}.",
        ),
    )
