"""The learning rate has fallen to next to nothing while there was still something to learn.

## What it sees
A learning rate below a thousandth of its peak (or exactly zero) for a large part of the run, although the loss was
still falling when it went.

## Why it matters
An update is proportional to the learning rate: from there on the steps only cost time. It looks like convergence.

## How it decides
The last `share` of the steps, or more, was taken below a thousandth of the peak, and the loss was still falling in the
steps before, or the rate went within the first `early` of the run, or it was a tenth of its peak within the first
`hasty`, next to nothing for `most` of the run, and the loss ended above `unsolved` of where it began and of a blind
guess, which is known. A rate that follows the loss down (reduce on
plateau) leaves when nothing falls any more, and is healthy. A smooth schedule that simply ended is
schedule-ended-early. A learning rate of zero at every step is an error. So is, where a loaded optimizer had taken steps
before, a rate that is never above `brought` of the one the optimizer was built with, while the loss does not fall: its
state brought along the rate at which the earlier run had ended.

## When it is wrong
Logs that round learning rates to a few digits.

## What to try
1. Decay more slowly: the factor that reaches a hundredth of the peak at the end of the run.
2. If the scheduler was meant per epoch, call it once per epoch.

## Example
>>> from bedside.testing import a_run
>>> rate = [1e-3 * 0.9**k for k in range(200)]
>>> print(*vanished_learning_rate.check(a_run(loss=[2.3 - 0.01 * min(k, 40) for k in range(200)], lr=rate)))
LRS104 vanished-learning-rate: The learning rate fell from 0.001 to below a thousandth of it by step 66, and 67 % of \
the run followed.

## References
- Bengio (2012), Practical recommendations for gradient-based training of deep architectures: the learning rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.chance_levels import known_chance
from bedside.analysis.optimizers import optimizers
from bedside.analysis.schedule import NOTHING, Schedule, read_schedule, schedulers
from bedside.analysis.statistics import trend
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import LOSS, LR
from bedside.rules.advice import LEARNING_RATE, moment
from bedside.rules.base import rule
from bedside.wording import count, number, percent

FADED = 0.1  # of the peak: below it the loss slows down because of the rate, whatever is left to learn
MIN_READINGS = 20  # readings that a trend needs


@dataclass(frozen=True)
class Limits:
    share: float = 0.25  # of the steps: step-wise schedules spend up to a quarter at their last level
    early: float = 0.1  # of the run: nothing has converged by then
    hasty: float = 0.25  # of the run: no schedule that is meant for a run spends three quarters of it below a tenth
    most: float = 0.5  # of the run
    unsolved: float = 0.25  # of the first level and of a blind guess: there was something left to learn
    brought: float = 0.01  # of what was asked for: schedules that are to be gone on with have more left
    readings: int = 20  # of the learning rate


@rule("LRS104", severity=Severity.WARNING, needs=[LR], limits=Limits())
def vanished_learning_rate(run: Run, limits: Limits) -> Iterator[Finding]:
    rates = run.series(LR.name).finite()
    if len(rates) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of lr, has {len(rates)}")
    if (asked := _brought_along(run, rates, limits)) > 0:
        yield _loaded(run, rates, asked)
        return
    schedule = read_schedule(run)
    if schedule is None:
        if not trend(run.loss.finite()).falling:  # else it is no zero: a log that rounds to a few digits
            yield _always_zero(run)
        return
    share = schedule.steps_after_vanishing
    if share < limits.share or schedule.ran_out:
        return
    gone = int(schedule.rates.steps[schedule.vanished])
    early = share > 1 - limits.early
    if not early and not _still_falling(run, schedule) and not _gone_in_haste(run, schedule, share, limits):
        return
    per_step = _decay_per_step(schedule)
    gentle = (0.01) ** (1 / max(1, run.steps))
    yield vanished_learning_rate.finding(
        f"The learning rate fell from {number(schedule.peak)} to below a thousandth of it by {moment(run, gone)}, and "
        f"{percent(share)} of the run followed.",
        first_step=_began_to_fall(schedule),
        last_step=schedule.rates.last_step,
        confidence=0.9 if share > 2 * limits.share else 0.75,
        evidence={"peak": schedule.peak, "last": schedule.rates.last, "share": share, "factor_per_step": per_step},
        series=[LR.name, LOSS.name],
        could_also_be=(
            "A scheduler that lowers the rate when a metric stalls, watching a metric that never improves.",
        ),
        try_=(
            f"Decay by {gentle:.5g} per step instead of {per_step:.3g}: that is a hundredth of the peak after "
            f"{run.steps:,} steps.",
            "If the scheduler counts epochs, call scheduler.step() once per epoch, not once per batch.",
        ),
    )


def _brought_along(run: Run, rates: Series, limits: Limits) -> float:
    """The rate that the optimizer was built with, where its loaded state replaced it by next to nothing; 0 if not."""
    known, before = optimizers(run), run.config.get("optimizer_steps_before", 0)
    asked = known[0].get("lr") if known else None
    if not isinstance(asked, (int, float)) or not isinstance(before, (int, float)) or before <= 0:
        return 0.0
    loss = run.loss.finite()
    gone = float(rates.values.max()) <= limits.brought * asked
    return float(asked) if gone and len(loss) >= limits.readings and not trend(loss).falling else 0.0


def _loaded(run: Run, rates: Series, asked: float) -> Finding:
    now, before = float(rates.values.max()), int(run.config["optimizer_steps_before"])
    return vanished_learning_rate.finding(
        f"The optimizer was built with a learning rate of {number(asked)} and steps with {number(now)}: the state that "
        f"was loaded into it, of {count(before)} earlier steps, brought along the rate at which that run had ended.",
        first_step=rates.first_step,
        last_step=rates.last_step,
        confidence=0.9,
        evidence={"asked": asked, "now": now, "steps_before": before},
        series=[LR.name, LOSS.name],
        could_also_be=("A last phase at the lowest rate, which is meant.",),
        try_=(
            Advice(
                f"After optimizer.load_state_dict(...), set group['lr'] = {number(asked)} in every param_group.",
                LEARNING_RATE,
                1,
            ),
            "Build the scheduler after the state was loaded, so that it counts from the rate that you want.",
        ),
        severity=Severity.ERROR,
    )


def _always_zero(run: Run) -> Finding:
    rates = run.series(LR.name).finite()
    return vanished_learning_rate.finding(
        f"The learning rate is 0 at all {len(rates):,} readings.",
        first_step=rates.first_step,
        last_step=rates.last_step,
        confidence=0.9,
        evidence={"peak": 0.0, "readings": len(rates)},
        series=[LR.name, LOSS.name],
        could_also_be=(
            "A log that rounds the learning rate to a few digits: compare optimizer.param_groups[0]['lr'].",
        ),
        try_=(
            "Give the optimizer a learning rate above 0 (1e-3 is a start for Adam, 0.1 for SGD).",
            "A warm-up that never ends also reads as 0: check its number of steps.",
        ),
        severity=Severity.ERROR,
    )


def _still_falling(run: Run, schedule: Schedule) -> bool:
    """Whether the loss fell in the second half of the steps before the learning rate was a tenth of its peak."""
    fading = int(schedule.rates.steps[np.flatnonzero(schedule.rates.values >= FADED * schedule.peak)[-1]])
    before = run.loss.finite().before(fading + 1)
    half = before.since((before.first_step + fading) // 2) if before else before
    return trend(half if len(half) >= MIN_READINGS else before).falling


def _gone_in_haste(run: Run, schedule: Schedule, share: float, limits: Limits) -> bool:
    """Whether the rate was gone so early that nothing can have been learned, and the loss shows that."""
    loss, chance = run.loss.finite(), known_chance(run.config)
    if share < limits.most or not loss or chance is None or _follows_the_loss(run):
        return False
    at = float(schedule.rates.steps[np.flatnonzero(schedule.rates.values >= FADED * schedule.peak)[-1]])
    end = loss.tail(max(MIN_READINGS, len(loss) // 10)).median()
    left = limits.unsolved * max(chance.level, float(np.median(loss.values[:MIN_READINGS])))
    return at < limits.hasty * run.steps and end > left


def _follows_the_loss(run: Run) -> bool:
    """A scheduler that lowers the rate when nothing falls any more."""
    return any("plateau" in str(each.get("name", "")).lower() for each in schedulers(run))


def _began_to_fall(schedule: Schedule) -> int:
    """The first step below the peak for good: what a vanishing rate brings about begins while it falls."""
    high = np.flatnonzero(schedule.rates.values > 0.99 * schedule.peak)
    return int(schedule.rates.steps[min(int(high[-1]) + 1, len(schedule.rates) - 1)])


def _decay_per_step(schedule: Schedule) -> float:
    """The factor by which one step lowered the rate, on the way down."""
    steps, values = schedule.rates.steps, schedule.rates.values
    span = int(steps[schedule.vanished] - steps[schedule.warm])
    last = max(float(values[schedule.vanished]), NOTHING * schedule.peak * 1e-3)
    return float((last / schedule.peak) ** (1 / max(1, span)))
