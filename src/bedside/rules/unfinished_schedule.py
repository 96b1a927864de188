"""The run ended while its learning-rate schedule was still on the way.

## What it sees
A finished run whose schedule was made for clearly more steps than the run took, or whose scheduler was called once per
epoch though it counts steps.

## Why it matters
The last part of a decaying schedule is where the loss falls most per step; a run that stops before it is worse than a
shorter run with a shorter schedule.

## How it decides
Only for runs that ended by themselves. Where the calls of the scheduler were counted: it was called less than `called`
of what it was built for, and what it was built for is the number of optimizer steps, give or take `steps_alike`; then
it counts steps and is called once per epoch. Otherwise the planned number of steps must be known: less than `share` of
it was run, and the rate is still above `high` of its peak and falling. That may be early stopping, so it is a note.

## When it is wrong
Early stopping, and runs that are going to be resumed.

## What to try
1. Call `scheduler.step()` after every `optimizer.step()` where it counts steps.
2. Give the schedule the number of steps that the run really takes, or run it to its end.

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

from bedside.analysis.schedule import Schedule, planned_steps, read_schedule
from bedside.analysis.scheduler_calls import Calls, scheduler_calls
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, LR
from bedside.rules.base import rule
from bedside.wording import count, number, percent, plural


@dataclass(frozen=True)
class Limits:
    share: float = 0.8  # of the plan: the end of a cosine or a line is still missing
    high: float = 0.3  # of the peak: below it most of the gain of the decay has been had
    readings: int = 20  # the last ten show whether the rate still falls
    called: float = 0.5  # of what it was built for: one call per epoch is far less
    steps_alike: float = 0.35  # relative: a total this close to the steps taken was meant for them


@rule("LRS103", severity=Severity.WARNING, needs=[LR], limits=Limits())
def unfinished_schedule(run: Run, limits: Limits) -> Iterator[Finding]:
    plan = planned_steps(run)
    schedule = read_schedule(run)
    if schedule is None:
        return
    if not run.finished:
        raise NotEnough("a finished run")
    for each in scheduler_calls(run):
        meant = each.total > 0 and abs(each.total / each.steps - 1) <= limits.steps_alike
        if each.per == "epoch" and meant and each.calls < limits.called * each.total:
            yield _called_too_seldom(run, schedule, each)
            return
    if not plan:
        raise NotEnough("the number of steps that were planned, or the scheduler's calls")
    rates = schedule.rates
    falling = len(rates) >= limits.readings and rates.last < 0.99 * float(rates.values[-limits.readings // 2])
    height = rates.last / schedule.peak
    if run.steps > limits.share * plan or height < limits.high or not falling:
        return
    yield unfinished_schedule.finding(
        f"The run ended after {count(run.steps)} of {count(plan)} planned steps, with the learning rate still at "
        f"{percent(height)} of its peak.",
        severity=Severity.NOTE,
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


def _called_too_seldom(run: Run, schedule: Schedule, each: Calls) -> Finding:
    rates = schedule.rates
    return unfinished_schedule.finding(
        f"{each.name} was made for {count(each.total)} calls and called {plural(each.calls, 'time')} in "
        f"{count(each.steps)} steps: it counts steps and is called once per epoch. The learning rate only came from "
        f"{number(float(rates.values[0]))} to {number(rates.last)}.",
        first_step=rates.first_step,
        last_step=rates.last_step,
        confidence=0.85,
        evidence={"calls": each.calls, "made_for": each.total, "steps": each.steps},
        series=[LR.name, LOSS.name],
        could_also_be=(f"A run that was meant to take {count(each.total)} epochs, and was stopped.",),
        try_=(
            "Call scheduler.step() after every optimizer.step().",
            f"Or build {each.name} for {plural(each.calls, 'call')}, one per epoch.",
        ),
    )
