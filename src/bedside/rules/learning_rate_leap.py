"""The learning rate leaps up in the middle of the run: the schedule started again.

## What it sees
A learning rate that had come down and is, from one reading to the next, several times higher; the loss leaps with it.

## Why it matters
A resume that restores the weights but not the scheduler (or builds it again with the step count at zero) starts the
schedule from its top. Weights that had settled are thrown out of their valley by steps they were no longer meant for,
and a part of the training is repeated.

## How it decides
Where the run was resumed and the rates from there on are those of the first steps again, one by one, the schedule began
anew, whatever the loss did: a warning if it was not over by then, a note if it was.

After the rate had fallen to a `leap`th of its highest or less, it rose `leap`-fold or more between neighbouring
readings. Where the run was resumed there, it is reported if the loss got worse by `worse` of its level and `noise`
times its noise: a warning if it has not come back by the end, a note if it has. A scheduler that takes the place of one
like it, before that was at its end, counts as a resume. Where no resume is known, one leap may be a warm restart on
purpose, which ends below where it began: so only a single leap counts, and only if the rate has come down again without
bringing the loss back. More than one is a cyclical schedule.

## When it is wrong
A schedule that is meant to begin anew at a resume, in a log that ends before that has paid.

## What to try
1. Save and restore `scheduler.state_dict()` (and the optimizer's) with the weights.
2. Build the scheduler with `last_epoch` at the step that is resumed.
3. Go back to the checkpoint of the resume, and continue with the rate it had.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> rate = [1e-3 * (1 - k / 110) for k in range(100)] + [1e-3] * 60
>>> loss = [4.0 - 0.03 * k for k in range(100)] + [2.4 - 0.005 * k for k in range(60)]
>>> print(*learning_rate_leap.check(a_run(loss=loss, lr=rate, events=[Event(100, "resume")])))
LRS109 learning-rate-leap: The learning rate leapt 10-fold, from 1e-4 to 0.001, at step 100, where the run was \
resumed; the loss went from 1.17 to 2.38 and ends at 2.13.

## References
- PyTorch documentation, Saving and loading a general checkpoint: the optimizer and the scheduler have states too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import judged_loss
from bedside.analysis.scheduler_calls import made_anew
from bedside.analysis.statistics import noise_level
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import LR
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    readings: int = 20  # of the learning rate
    leap: float = 3.0  # times the rate before: warm-ups and step-wise schedules move by less between two readings
    around: int = 10  # readings of the loss on either side
    soon: int = 50  # readings after the leap: a network that had nearly converged takes some steps to be thrown out
    worse: float = 0.05  # of the loss before: batches of another difficulty make as much
    noise: float = 5.0  # σ of one reading
    steady: int = 20  # readings of one rate before the leap: warm-ups, by step or by epoch, do not wait that long
    outlived: float = 0.1  # of the readings after it: the loss had time to come back
    again: int = 10  # rates of the start that come again, one by one: no accident
    alike: float = 1e-3  # relative: the same rate, written twice
    moved: float = 0.1  # of the peak: a rate that hardly changes at the resume costs nothing
    over: float = 0.02  # of the peak: a schedule that had come down to it was over, and a new one is a new one


@rule("LRS109", severity=Severity.WARNING, needs=[LR], limits=Limits())
def learning_rate_leap(run: Run, limits: Limits) -> Iterator[Finding]:
    rates = run.series(LR.name).finite()
    if len(rates) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of lr, has {len(rates)}")
    anew = _began_anew(run, rates, limits)
    if anew is not None:
        yield anew
        return
    leaps = _leaps(rates, limits)
    anew_at = [each.begins + rates.first_step for each in made_anew(run)]
    rebuilt = [place for place in leaps if _is_near(rates, place, anew_at)]
    resumed = rebuilt or [place for place in leaps if _resumed(run, rates, place)]
    steady = _after_steady(rates, limits)
    leaps = sorted({*leaps, *steady})
    if not leaps or (not resumed and len(leaps) > 1):
        return
    place = (resumed or leaps)[0]
    step, loss = int(rates.steps[place]), judged_loss(run).finite()
    earlier = loss.before(step).tail(limits.around)
    if len(earlier) < limits.around or len(loss.since(step)) < limits.around:
        return
    before, now = earlier.median(), loss.median(limits.around)
    after = max(loss.since(step).head(readings).median() for readings in (limits.around, limits.soon))
    margin = max(limits.worse * abs(before), limits.noise * noise_level(loss.before(step).values[-5 * limits.around :]))
    old, new = float(rates.values[place - 1]), float(rates.values[place])
    stays = now > before + margin
    long = len(loss.since(step)) >= limits.outlived * len(loss)
    unearned = stays and (rates.last <= limits.leap * old or (place in steady and long))
    if after <= before + margin or not (resumed or unearned):
        return
    where = ", where the scheduler was made anew" if rebuilt else ", where the run was resumed" if resumed else ""
    yield learning_rate_leap.finding(
        f"The learning rate leapt {number(new / old, 2)}-fold, from {number(old)} to {number(new)}, at "
        f"{moment(run, step)}{where}; the loss went from {number(before)} to {number(after)} and ends at "
        f"{number(now)}.",
        severity=None if stays else Severity.NOTE,
        first_step=step,
        last_step=loss.last_step,
        confidence=0.9 if resumed else 0.75,
        evidence={"before": old, "after": new, "loss": [before, after, now], "resumed": bool(resumed)},
        series=[LR.name, loss.key],
        could_also_be=("A restart of the schedule on purpose: look at how it was built.",),
        try_=(
            "Save and restore scheduler.state_dict() and optimizer.state_dict() with the weights." if resumed else "",
            f"Go back to the checkpoint of {moment(run, step)}, and continue at a learning rate of {number(old)}.",
        ),
    )


def _began_anew(run: Run, rates: Series, limits: Limits) -> Finding | None:
    """A resume after which the learning rates of the first steps come again."""
    peak = float(rates.values.max())
    for event in run.events_of("resume"):
        earlier, later = rates.before(event.step), rates.since(event.step)
        count = min(len(later), len(earlier))
        if count < limits.again or peak <= 0:
            continue
        first, again = rates.values[:count], later.values[:count]
        moves = np.ptp(first[: limits.again]) > limits.alike * peak or np.ptp(again) > limits.moved * peak
        replayed = bool((np.abs(first - again) <= limits.alike * peak).all())
        old, new = earlier.last, float(again[0])
        if replayed and moves and abs(new - old) > limits.moved * peak:
            return _anew(run, event.step, old, new, over=old <= limits.over * peak)
    return None


def _anew(run: Run, step: int, old: float, new: float, *, over: bool) -> Finding:
    return learning_rate_leap.finding(
        f"The schedule began anew where the run was resumed, at {moment(run, step)}: the learning rate went from "
        f"{number(old)} back to {number(new)} and takes the same course as from the first step on.",
        severity=Severity.NOTE if over else None,
        first_step=step,
        last_step=run.steps - 1,
        confidence=0.9,
        evidence={"before": old, "after": new, "resumed": True},
        series=[LR.name],
        could_also_be=("A second schedule on purpose, on top of the first.",),
        try_=(
            "Save and restore scheduler.state_dict() and optimizer.state_dict() with the weights.",
            f"Or build the scheduler with last_epoch at {moment(run, step)}.",
        ),
    )


def _leaps(rates: Series, limits: Limits) -> list[int]:
    """Readings that are `leap` times the one before, after the rate had come down that far."""
    values = rates.values
    highest = np.maximum.accumulate(values)
    old, new = values[:-1], values[1:]
    leapt = (new > limits.leap * old) & (old * limits.leap <= highest[:-1]) & (old > 0)
    return [int(place) + 1 for place in np.flatnonzero(leapt)]


def _after_steady(rates: Series, limits: Limits) -> list[int]:
    """The same after a rate that had stayed what it was, which no warm-up and no restart does."""
    values = rates.values
    return [
        int(place) + 1
        for place in np.flatnonzero((values[1:] > limits.leap * values[:-1]) & (values[:-1] > 0))
        if place + 1 >= limits.steady
        and np.ptp(values[place + 1 - limits.steady : place + 1]) <= limits.alike * values[place]
    ]


def _resumed(run: Run, rates: Series, place: int) -> bool:
    """Whether the run was resumed between the two readings, give or take one."""
    return _is_near(rates, place, [event.step for event in run.events_of("resume")])


def _is_near(rates: Series, place: int, steps: Iterable[int]) -> bool:
    first, last = rates.steps[max(0, place - 2)], rates.steps[min(len(rates) - 1, place + 1)]
    return any(first <= step <= last for step in steps)
