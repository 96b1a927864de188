"""The learning-rate schedule came to its end while the run went on.

## What it sees
A smooth schedule (cosine, linear, polynomial) that has arrived at next to nothing and rests there, with a third of the
run or more still to go.

## Why it matters
The schedule was made for another number of steps: per epoch instead of per batch, before gradient accumulation or a
change of batch size, for one rank instead of eight. Everything after its end is paid for and changes nothing.

## How it decides
The rate came down by degrees to below a thousandth of its peak, and no longer changes; `share` of the steps (of those
planned, when the plan is known) come after that. `still` of them are enough when the scheduler itself was seen at work
and left a rate of zero. Where the calls of the scheduler were counted, it is over when it was called as often as it was
built for, whatever rate it rests at, as long as that is less than `rest` of the peak. PyTorch's cosine without restarts
does not rest at its end but comes back up: when the scheduler is known to be that one, a rate that was below `low` of
its peak and rises again by `up` is the same mistake. A rate that rests at a floor above that for `long` of the run is a
note; it is a warning where that is `most` of the run, the floor is `floor` of the peak or less, and the training loss
still fell all the while.

## When it is wrong
A deliberate cool-down in which only statistics are collected (batch norm). The schedule of averaged weights (SWA),
which rests on purpose, is recognised in watched runs.

## What to try
1. Give the schedule the number of optimizer steps that the run really takes.

## Example
>>> import math
>>> from bedside.testing import a_run
>>> rate = [1e-3 * 0.5 * (1 + math.cos(math.pi * min(1, k / 100))) for k in range(300)]
>>> print(*schedule_ended_early.check(a_run(loss=[1.0] * 300, lr=rate)))
LRS102 schedule-ended-early: The learning rate came to its end at step 98, and 67 % of the run followed: the schedule \
was made for about 100 steps.

## References
- Loshchilov and Hutter (2017), SGDR: stochastic gradient descent with warm restarts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.schedule import Schedule, planned_steps, read_schedule, schedulers
from bedside.analysis.scheduler_calls import Calls, made_anew, scheduler_calls, weights_are_averaged
from bedside.analysis.statistics import trend
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, LR
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import count, number, percent


@dataclass(frozen=True)
class Limits:
    share: float = 1 / 3  # of the run: less may be a margin left on purpose
    still: float = 0.1  # of the run, at a rate of zero, which serves no purpose: more than a rounded number of epochs
    zero: float = 1e-6  # of the peak: float32 weights no longer notice
    low: float = 0.1  # of the peak: a cosine that turns above it was not meant to end
    up: float = 0.03  # of the peak: a cosine is back there a ninth past its end, which no rounding of epochs explains
    rest: float = 0.5  # of the peak: a warm-up ends at its peak, and a decay that only halved the rate did little harm
    long: float = 0.5  # of the run, at a floor that nothing but the curve tells of: recipes keep one for a tenth
    most: float = 2 / 3  # of the run, at a floor: no recipe decays for a third of its steps and trains on for two
    floor: float = 0.05  # of the peak: below what recipes keep to train on with, a tenth
    readings: int = 20  # of the learning rate, and as many steps at rest


@rule("LRS102", severity=Severity.WARNING, needs=[LR], limits=Limits())
def schedule_ended_early(run: Run, limits: Limits) -> Iterator[Finding]:
    schedule = read_schedule(run)
    if schedule is None:
        return
    rates = schedule.rates
    if len(rates) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of lr, has {len(rates)}")
    if weights_are_averaged(run):
        return
    turn = _came_back_up(run, schedule, limits)
    if turn is not None:
        yield _past_its_end(run, schedule, turn)
        return
    over = _called_too_often(run, schedule, limits)
    if over is not None:
        yield _rests(run, schedule, over)
        return
    if not schedule.ran_out or len(rates) - schedule.resting < limits.readings:
        yield from _long_at_a_floor(run, schedule, limits)
        return
    ended, rest = int(rates.steps[schedule.vanished]), int(rates.steps[min(schedule.resting, len(rates) - 1)])
    length = max(run.steps, planned_steps(run))
    share = 1 - ended / length
    gone = rates.last <= limits.zero * schedule.peak and any(each.get("stepped") for each in schedulers(run))
    if share < (limits.still if gone else limits.share):
        return
    yield schedule_ended_early.finding(
        f"The learning rate came to its end at {moment(run, ended)}, and {percent(share)} of the run followed: the "
        f"schedule was made for about {count(rest)} steps.",
        first_step=ended,
        last_step=rates.last_step,
        confidence=0.9,
        evidence={"ended": ended, "share": share, "peak": schedule.peak, "last": rates.last, "length": length},
        series=[LR.name, LOSS.name],
        could_also_be=("A cool-down on purpose, to collect statistics at fixed weights.",),
        try_=(
            f"Make the schedule {count(length)} steps long instead of {count(rest)}.",
            f"If it counts epochs, step it once per epoch; if it counts steps, divide by the accumulated micro-batches "
            f"only once: it ran {length / max(1, rest):.2g} times too fast.",
        ),
    )


def _called_too_often(run: Run, schedule: Schedule, limits: Limits) -> Calls | None:
    """A scheduler that was called far more often than it was built for, and left the rate where it was then."""
    if schedule.rates.last > limits.rest * schedule.peak:
        return None
    for each in scheduler_calls(run):
        length = max(each.steps, planned_steps(run))
        if 0 < each.total <= each.calls and each.over_at <= (1 - limits.share) * length:
            return each
    return None


def _rests(run: Run, schedule: Schedule, over: Calls) -> Finding:
    length = max(run.steps, planned_steps(run))
    return schedule_ended_early.finding(
        f"{over.name} was made for {count(over.total)} calls and called {count(over.calls)} times: the learning rate "
        f"has rested at {number(schedule.rates.last)} since {moment(run, over.over_at)}, for "
        f"{percent(1 - over.over_at / length)} of the run.",
        first_step=over.over_at,
        last_step=schedule.rates.last_step,
        confidence=0.85,
        evidence={
            "ended": over.over_at,
            "calls": over.calls,
            "made_for": over.total,
            "last": schedule.rates.last,
            "peak": schedule.peak,
        },
        series=[LR.name, LOSS.name],
        could_also_be=("A long tail at a constant rate on purpose.",),
        try_=(f"Build {over.name} for {count(round(over.total * length / max(1, over.over_at)))} calls.",),
    )


def _long_at_a_floor(run: Run, schedule: Schedule, limits: Limits) -> Iterator[Finding]:
    """A rate that came down by degrees and has rested since, at a floor that may be meant so."""
    rates, resting = schedule.rates, min(schedule.resting, len(schedule.rates) - 1)
    rested = 1 - (int(rates.steps[resting]) - rates.first_step) / max(1, rates.last_step - rates.first_step)
    down = rates.last <= limits.rest * schedule.peak and schedule.levels(schedule.warm, resting + 1) > 5
    if rested < limits.long or not down or len(rates) - resting < limits.readings:
        return
    low = rested >= limits.most and rates.last <= limits.floor * schedule.peak
    ended, floor = int(rates.steps[resting]), float(rates.values[resting])
    harmful = low and trend(run.loss.finite().since(ended)).falling
    yield schedule_ended_early.finding(
        f"The learning rate came to rest at {number(floor)} at {moment(run, ended)}, and {percent(rested)} of the run "
        f"followed{', in which the loss still fell' if harmful else ''}.",
        severity=None if harmful else Severity.NOTE,
        first_step=ended,
        last_step=rates.last_step,
        confidence=0.6,
        evidence={"ended": ended, "share": rested, "last": rates.last, "peak": schedule.peak},
        series=[LR.name, LOSS.name],
        could_also_be=("A long tail at a constant rate on purpose.",),
        try_=(f"If it was not meant so, make the schedule {count(run.steps)} steps long.",),
    )


def _came_back_up(run: Run, schedule: Schedule, limits: Limits) -> int | None:
    """The reading at which a cosine without restarts was at its end, if the rate rose again after it."""
    if not any(str(each.get("name", "")) == "CosineAnnealingLR" for each in schedulers(run)) or made_anew(run):
        return None  # a new one begins at its peak: see learning-rate-leap
    values = schedule.rates.values[schedule.warm :]
    turn = int(np.argmin(values))
    after = values[turn:]
    rose = len(after) >= limits.readings and after[-1] - values[turn] > limits.up * schedule.peak
    return schedule.warm + turn if rose and values[turn] < limits.low * schedule.peak else None


def _past_its_end(run: Run, schedule: Schedule, turn: int) -> Finding:
    ended, last = int(schedule.rates.steps[turn]), schedule.rates.last_step
    return schedule_ended_early.finding(
        f"The cosine schedule was made for {count(ended)} steps and came back up after its end, to "
        f"{number(schedule.rates.last)} at {moment(run, last)}.",
        first_step=ended,
        last_step=last,
        confidence=0.85,
        evidence={"ended": ended, "peak": schedule.peak, "last": schedule.rates.last},
        series=[LR.name, LOSS.name],
        could_also_be=("A cyclic schedule on purpose: CosineAnnealingWarmRestarts says so.",),
        try_=(f"Give CosineAnnealingLR T_max={last + 1} instead of {ended}, or stop stepping it at its end.",),
    )
