"""The learning rate was still warming up when most of the run was over.

## What it sees
A learning rate that rises for half of the run or longer.

## Why it matters
Warm-up is meant for the first few per cent. A warm-up counted in the wrong unit (epochs for steps, micro-batches for
steps) keeps the run at a fraction of its learning rate, and the decay never comes.

## How it decides
The rate never falls from the first reading to its peak, and the peak lies beyond `share` of the planned steps, or will,
by the scheduler's own settings; without a plan, the rate must still be rising at the end, by the length of its stairs,
and the run be finished, or longer than warm-ups are: `epochs` epochs or `steps` steps. The rise may have any shape but
that of a learning-rate range test: by the same factor at every step, over `decades` decades or more.

## When it is wrong
One-cycle schedules with an unusually late peak.

## What to try
1. Warm up over 1 to 10 % of the steps.

## Example
>>> from bedside.testing import a_run
>>> rate = [1e-6 * k for k in range(1, 301)]
>>> print(*endless_warmup.check(a_run(loss=[2.0] * 300, lr=rate, config={"max_steps": 400})))
LRS106 endless-warmup: The learning rate has been rising for 300 of 400 steps, to 3e-4 so far.

## References
- Goyal et al. (2017), Accurate, large minibatch SGD: warm-up over the first epochs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.schedule import planned_steps, read_schedule, schedulers
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Values
from bedside.record.vocabulary import LOSS, LR
from bedside.rules.base import rule
from bedside.wording import count, number


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the run: one-cycle peaks at 0.3, and recipes warm up over 0.01 to 0.1
    readings: int = 20  # of the rise: enough to distinguish a straight line from a curve
    decades: float = 2.0  # range tests go through four or more; a warm-up of that shape is unheard of
    half_way: float = 0.35  # of the decades, still to go in the middle: a range test has half of them to go
    epochs: int = 20  # where nobody says how long the run is meant to be: vision transformers warm up for as many
    steps: int = 10_000  # the same: language models warm up for as many
    stairs: float = 1.5  # times the usual stair: a rate that has not risen for longer has arrived
    rose: float = 0.7  # of the last rate: a start above it is not a warm-up


@rule("LRS106", severity=Severity.WARNING, needs=[LR], limits=Limits())
def endless_warmup(run: Run, limits: Limits) -> Iterator[Finding]:
    schedule = read_schedule(run)
    if schedule is None:
        return
    rates = schedule.rates
    if len(rates) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of lr, has {len(rates)}")
    rise = rates.head(schedule.warm + 1)
    if len(rise) < limits.readings or not (np.diff(rise.values) >= 0).all() or not _is_warmup(rise.values, limits):
        return
    plan, still = planned_steps(run), _still_rising(rates.values, limits)
    longest = limits.epochs if run.axis == "epoch" else limits.steps
    if not plan and not (still and (run.finished or run.steps > longest)):
        return  # a run in its first minutes
    length = max(plan, run.steps)
    took = int(rise.last_step) + 1
    meant = max((int(each.get("warmup") or 0) for each in schedulers(run)), default=0) if still else 0
    if max(took, meant) < limits.share * length:
        return
    yield endless_warmup.finding(
        f"The learning rate {'has been' if still else 'was'} rising for {count(took)} of {count(length)} steps, to "
        f"{number(schedule.peak)}{' so far' if still else ''}"
        + (f"; its warm-up was made for {count(meant)}." if meant > took else "."),
        first_step=int(limits.share * length) if took >= limits.share * length else rates.first_step,
        last_step=rise.last_step,
        confidence=0.8,
        evidence={"warm_up": took, "length": length, "peak": schedule.peak},
        series=[LR.name, LOSS.name],
        could_also_be=("A cyclic schedule with one very long first rise.",),
        try_=(
            f"Warm up over {count(max(1, length // 20))} steps (5 % of the run) instead of {count(max(took, meant))}.",
        ),
    )


def _is_warmup(values: Values, limits: Limits) -> bool:
    """Whether it rose at all, and not by one factor over several decades, which is a learning-rate range test."""
    first, last = float(values[0]), float(values[-1])
    if first >= limits.rose * last:
        return False
    decades = math.log10(last / first) if first > 0 else 0.0
    middle = float(values[len(values) // 2])
    return decades < limits.decades or math.log10(last / middle) < limits.half_way * decades


def _still_rising(values: Values, limits: Limits) -> bool:
    """Whether the last rise is no longer ago than stairs usually are."""
    rises = np.flatnonzero(np.diff(values) > 0) + 1
    if not len(rises):
        return False
    stair = float(np.median(np.diff(rises))) if len(rises) > 1 else 1.0
    return len(values) - int(rises[-1]) <= limits.stairs * stair
