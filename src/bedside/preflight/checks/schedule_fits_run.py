"""The learning-rate schedule fits the length of the run.

## What it sees
The whole schedule, drawn before it is used: where it peaks, how long it warms up, where it ends, and where it is zero.

## Why it matters
A cosine that ends after a tenth of the run trains at zero for the rest, or climbs again. A schedule made for ten times
as many steps never comes down. A warm-up in epochs where steps were meant takes the whole run. All of these train.

## How it decides
The scheduler is stepped through `steps` steps and put back. Whether it is stepped per step or per epoch is not known,
so both are tried, and the reading under which it fits counts. Failed: a rate of zero before the last `tail` of the run,
a scheduler that raises before the end, one whose own length (T_max, total_steps, total_iters) is far from the run's,
and a warm-up longer than `warmup` of the run.

## When it is wrong
Schedules that are meant to end early or to be continued by another run.

## What to try
1. Count in what you step in: `T_max=epochs * len(train_loader)` for a scheduler that is stepped per batch.
2. `print(bedside.lab.schedules.preview(scheduler, steps))`.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import a_model, examined, seeded
>>> model = seeded(a_model)
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
>>> short = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=50)
>>> print(examined(schedule_fits_run, model, optimizer=lambda _: optimizer, scheduler=short, steps=600))
PRE601 schedule-fits-run: The learning rate is zero from step 50 of 600 on: nothing is learned there.

## References
- Smith and Topin (2018), Super-convergence.
- Loshchilov and Hutter (2017), SGDR: stochastic gradient descent with warm restarts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.schedule_preview import horizon, previewed
from bedside.preflight.setup import SCHEDULER, STEPS, Setup
from bedside.wording import count, number, percent


@dataclass(frozen=True)
class Limits:
    tail: float = 0.02  # of the run: the end of a decay to zero
    warmup: float = 0.5  # of the run: recipes warm up for a tenth, one-cycle for a third
    short: float = 0.9  # of the run: a schedule that ends before this ends early
    long: float = 1.5  # times the run: one that ends after this never comes down
    high: float = 0.5  # of the peak: the rate at the end of a schedule that never came down
    zero: float = 1e-9  # of the peak: as good as zero
    longest: int = 200_000  # steps in fast depth: about two seconds


@dataclass(frozen=True)
class Reading:
    """The schedule under one meaning of `scheduler.step()`: what is wrong with it, and its rates."""

    per: str
    complaint: str
    rates: Sequence[float]
    drawn: str


@check("PRE601", severity=Severity.WARNING, limits=Limits(), needs=[SCHEDULER, STEPS])
def schedule_fits_run(setup: Setup, limits: Limits) -> Passed | Finding:
    steps = setup.steps or 0
    if steps > limits.longest and setup.depth != "full":
        raise NotEnough(f"depth='full' for a run of {count(steps)} steps")
    readings = [_read(setup.scheduler, steps, "step", limits)]
    if epochs := _epochs(setup, steps):
        readings.append(_read(setup.scheduler, epochs, "epoch", limits))
    fitting = [each for each in readings if not each.complaint]
    chosen = _closest(setup.scheduler, fitting) if fitting else readings[0]
    peak = max(chosen.rates)
    numbers = {
        "first": chosen.rates[0],
        "peak": peak,
        "last": chosen.rates[-1],
        "per": chosen.per,
        "drawn": chosen.drawn,
    }
    if fitting:
        said = f"{number(chosen.rates[0])} → {number(peak)} → {number(chosen.rates[-1])}, stepped per {chosen.per}"
        return schedule_fits_run.passed(said, **numbers)
    return schedule_fits_run.finding(
        chosen.complaint,
        confidence=0.8,
        evidence=numbers | {"steps": steps},
        could_also_be=("A schedule that another run continues.", "A scheduler that is stepped at other times."),
        try_=(
            f"Make the schedule {count(steps)} steps long, or {count(epochs)} epochs if it is stepped per epoch."
            if epochs
            else f"Make the schedule {count(steps)} steps long.",
            "print(bedside.lab.schedules.preview(scheduler, steps)) draws it.",
        ),
    )


def _epochs(setup: Setup, steps: int) -> int:
    try:
        per_epoch = len(setup.train_loader)  # type: ignore[arg-type]  # many loaders have a length
    except TypeError:
        return 0
    epochs = round(steps / per_epoch / setup.training.loop.accumulate) if per_epoch else 0
    return epochs if 2 <= epochs < steps else 0


def _read(scheduler: Any, total: int, per: str, limits: Limits) -> Reading:
    """Look at `total` steps of the schedule as the whole run."""
    shown = previewed(scheduler, total)
    rates = shown.first_group
    peak = max(rates)
    zero = len(rates)  # the step from which on the rate is zero
    while zero and rates[zero - 1] <= limits.zero * peak:
        zero -= 1
    length = horizon(scheduler)
    complaint = ""
    if shown.ended_at is not None:
        complaint = f"The schedule ends at {per} {count(length or shown.ended_at)} of {count(total)}, and raises there."
    elif peak <= 0:
        complaint = f"The learning rate is zero in all of {count(total)} {per}s."
    elif zero < (1 - limits.tail) * total - 1:
        since = f"{per} {count(zero)} of {count(total)}"
        complaint = f"The learning rate is zero from {since} on: nothing is learned there."
    elif length is not None and length < limits.short * total:
        complaint = f"The schedule is {count(length)} {per}s long, the run {count(total)}."
    elif shown.warmup > limits.warmup and not _cyclic(scheduler):
        complaint = f"The warm-up takes {percent(shown.warmup)} of the run of {count(total)} {per}s."
    elif length is not None and length > limits.long * total and rates[-1] > limits.high * peak:
        complaint = f"The schedule is {count(length)} {per}s long, the run {count(total)}: it never comes down."
    return Reading(per, complaint, rates, str(shown).splitlines()[-1])


def _closest(scheduler: Any, readings: Sequence[Reading]) -> Reading:
    """Of several readings that fit, the one whose length is nearest to the schedule's own."""
    length = horizon(scheduler)
    if length is None:
        return readings[0]
    return min(readings, key=lambda each: abs(len(each.rates) - length))


def _cyclic(scheduler: Any) -> bool:
    return "Cyclic" in type(scheduler).__name__ or "Restart" in type(scheduler).__name__
