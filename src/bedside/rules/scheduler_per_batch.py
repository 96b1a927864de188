"""A schedule that was meant per epoch is stepped at every batch, or one that was meant per step at every micro-batch.

## What it sees
A learning rate that falls by a constant factor every few steps from the very beginning, so that it is gone before the
first epoch is; or a scheduler that was called many times more often than it was built for.

## Why it matters
`StepLR(step_size=10, gamma=0.1)` stepped once per batch divides the learning rate by a thousand in thirty batches. The
loss stops where it is, and it looks like a plateau.

## How it decides
The rate falls geometrically, in equal stretches, from the first step on, and is below a thousandth of its peak within
`early` of the run. Or it has come down to `fell` of its peak when the second epoch begins: at that pace it is gone
after four, and a decay that is meant for so few has a plan (`max_steps`) that says so. A cosine that comes back up from
zero again and again is the same mistake, when the scheduler is known to be one without restarts.

Where the calls of the scheduler were counted, they decide: called once per step, it was over within `known` of the run,
or after as many calls as there were epochs; or called once per micro-batch, it was over with `left` of the run to go. A
scheduler that was built for the number of micro-batches is in order.

## When it is wrong
Very fast decays on purpose, in runs of a few hundred steps.

## What to try
1. Move `scheduler.step()` out of the batch loop.
2. Or give the schedule its numbers in steps.

## Example
>>> from bedside.testing import a_run
>>> rate = [0.1 * 0.1 ** (k // 10) for k in range(500)]
>>> print(*scheduler_per_batch.check(a_run(loss=[2.0] * 500, lr=rate)))
LRS107 scheduler-per-batch: The learning rate is multiplied by 0.1 every 10 steps from the start: 0.1 is gone by step \
40.

## References
- PyTorch documentation, torch.optim.lr_scheduler: "scheduler.step() should be called after each epoch", for most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.schedule import NOTHING, Schedule, planned_steps, read_schedule, schedulers
from bedside.analysis.scheduler_calls import scheduler_calls, weights_are_averaged
from bedside.analysis.untrained_signs import epochs
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import EPOCH, LOSS, LR
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import count, number, plural


@dataclass(frozen=True)
class Limits:
    early: float = 0.1  # of the run: nobody plans to be done by then
    alike: float = 0.05  # relative: factors and stretches this close are one schedule's
    drops: int = 3  # of a schedule: two could be by hand
    readings: int = 50  # so that a tenth of the run holds a few drops
    fell: float = 0.18  # of the peak per epoch: a thousandth after four; exponential decays of recipes take dozens
    fewest: int = 20  # readings, as for any verdict
    known: float = 0.2  # of the run, when the scheduler's calls were counted: no recipe has one that short
    left: float = 1 / 3  # of the run, as in schedule-ended-early
    epochs: float = 0.25  # relative: a total this close to the number of epochs counts epochs
    down: float = 0.5  # of the peak: a rate that is still above it was not taken away


@rule("LRS107", severity=Severity.ERROR, needs=[LR], limits=Limits())
def scheduler_per_batch(run: Run, limits: Limits) -> Iterator[Finding]:
    schedule = read_schedule(run)
    if schedule is None or run.axis == "epoch":
        return
    if len(schedule.rates) < limits.fewest:
        raise NotEnough(f"{limits.fewest} readings of lr, has {len(schedule.rates)}")
    if weights_are_averaged(run):
        return
    counted = _by_calls(run, schedule, limits)
    if counted is not None:
        yield counted
        return
    fall = _geometric_fall(schedule, limits)
    gone = int(schedule.rates.steps[schedule.vanished]) if schedule.vanished < len(schedule.rates) else run.steps
    long = len(schedule.rates) >= limits.readings
    if fall and long and (gone < limits.early * run.steps or _within_first_epoch(run, gone)):
        factor, every = fall
        yield _finding(
            run,
            f"The learning rate is multiplied by {number(factor, 2)} every {plural(every, 'step')} from the start: "
            f"{number(schedule.peak)} is gone by {moment(run, gone)}.",
            gone,
            {"factor": factor, "every": every, "gone": gone},
        )
        return
    left = _left_after_an_epoch(run, schedule)
    if fall and left <= limits.fell and not _planned(run, *fall):
        factor, every = fall
        yield _finding(
            run,
            f"The learning rate is multiplied by {number(factor, 2)} every {plural(every, 'step')} from the start: "
            f"one epoch leaves {number(left, 2)} of {number(schedule.peak)}.",
            schedule.rates.last_step,
            {"factor": factor, "every": every, "left_after_an_epoch": left},
        )
        return
    period = _bounces(run, schedule) if long else 0
    if period:
        yield _finding(
            run,
            f"The cosine schedule comes back up every {plural(period, 'step')}: it was made for {period // 2} calls.",
            period,
            {"period": period},
        )


def _by_calls(run: Run, schedule: Schedule, limits: Limits) -> Finding | None:
    """What the scheduler's own calls say, beside the optimizer's steps and what it was built for."""
    passes = epochs(run)
    for each in scheduler_calls(run):
        length = max(each.steps, planned_steps(run))
        if not 0 < each.lasts <= each.calls:
            continue
        if each.per == "micro-batch" and each.over_at <= (1 - limits.left) * length:
            return _finding(
                run,
                f"{each.name} is stepped once per micro-batch, {number(each.calls / each.steps, 2)} times per "
                f"optimizer step: made for {count(each.lasts)} calls, it was over at {moment(run, each.over_at)} of "
                f"{count(length)}.",
                each.over_at,
                {"calls": each.calls, "steps": each.steps, "made_for": each.lasts},
                "Call scheduler.step() right after optimizer.step(), inside the same `if`.",
            )
        meant_epochs = passes >= limits.drops and abs(each.lasts / passes - 1) <= limits.epochs
        early = each.over_at <= limits.known * length or (meant_epochs and each.over_at <= (1 - limits.left) * length)
        came_down = schedule.rates.last <= limits.down * schedule.peak or _bounces(run, schedule)
        if each.per == "step" and early and came_down and each.steps >= limits.readings:
            return _finding(
                run,
                f"{each.name} is stepped at every optimizer step: made for {count(each.lasts)} calls, it was called "
                f"{count(each.calls)} times.",
                each.over_at,
                {"calls": each.calls, "steps": each.steps, "made_for": each.lasts},
            )
    return None


def _finding(
    run: Run,
    message: str,
    first: int,
    evidence: dict[str, float],
    instead: str = "Move scheduler.step() out of the batch loop, to the end of the epoch.",
) -> Finding:
    return scheduler_per_batch.finding(
        message,
        first_step=0,
        last_step=first,
        confidence=0.85,
        evidence=evidence,
        series=[LR.name, LOSS.name],
        could_also_be=("A fast decay on purpose: then it is the learning rate that is meant to vanish.",),
        try_=(
            instead,
            f"Or build the schedule for the number of calls it gets, {count(int(evidence['calls']))}."
            if "calls" in evidence
            else "Or multiply the schedule's numbers by the batches per epoch.",
        ),
    )


def _geometric_fall(schedule: Schedule, limits: Limits) -> tuple[float, int] | None:
    """The factor and the stretch of a fall in equal steps of the logarithm, from the first readings on."""
    steps, values = schedule.rates.steps, schedule.rates.values
    stop = min(len(values) - 1, max(schedule.vanished, limits.drops + 1))
    if schedule.warm > 0 or values[0] <= 0:
        return None
    positive = values[: stop + 1] > 0
    level = np.log(np.where(positive, values[: stop + 1], 1.0))[positive]
    at = np.flatnonzero(np.abs(np.diff(level)) > 1e-9) + 1
    if len(at) < limits.drops:
        return None
    drops, stretches = np.diff(level)[at - 1], np.diff(np.r_[0, at])
    if drops.max() >= 0 or np.ptp(drops) > limits.alike * abs(drops.mean()):
        return None
    if np.ptp(stretches) > max(1, limits.alike * stretches.mean()):
        return None
    every = round(float(np.median(np.diff(np.r_[steps[0], steps[at]]))))
    return float(np.exp(drops.mean())), max(1, every)


def _within_first_epoch(run: Run, gone: int) -> bool:
    counted = run.series(EPOCH.name)
    return len(counted) > 0 and counted.last >= 1 and len(before := counted.before(gone + 1)) > 0 and before.last < 1


def _left_after_an_epoch(run: Run, schedule: Schedule) -> float:
    """The part of the peak at which the second epoch began; 1 if it has not. The first may show only at its end."""
    began = [event.step for event in run.events_of("epoch") if event.step > 0]
    counted = run.series(EPOCH.name).finite()
    over = counted.steps[counted.values >= np.floor(counted.values[0]) + 1] if counted else []
    begun = min([*began, *over], default=schedule.rates.last_step) + 1  # the first step of the second epoch
    later = schedule.rates.since(begun)
    return float(later.values[0]) / schedule.peak if later else 1.0


def _planned(run: Run, factor: float, every: int) -> bool:
    """Whether something would be left of the rate at the end of a run whose length is known."""
    plan = planned_steps(run)
    return plan > 0 and factor ** (plan / every) > NOTHING


def _bounces(run: Run, schedule: Schedule) -> int:
    """The period of a cosine without restarts that rises again, at least twice; 0 if it does not."""
    if not any(str(each.get("name", "")) == "CosineAnnealingLR" for each in schedulers(run)):
        return 0
    high = schedule.rates.values > 0.9 * schedule.peak
    rises = schedule.rates.steps[np.flatnonzero(np.diff(high.astype(int)) == 1) + 1]
    return int(np.median(np.diff(rises))) if len(rises) >= 3 else 0
