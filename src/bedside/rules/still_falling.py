"""The run ended while the loss was still falling.

## What it sees
A finished run whose loss fell, over its last quarter, by a good part of what there is.

## Why it matters
There was more to win by going on; comparing such runs compares their patience and not their ideas.

## How it decides
Over the last `last` of the readings the loss falls beyond chance, and as much again would lower it by `gain` of its
level. A note; never for a run that is still going on. A warning where it was learning at full speed: training and
validation losses won `steep` of all their progress in that time, and either a linear model or a look-up of neighbours,
fitted to a few hundred of its examples, is better than the network ever was by `apart` of a blind guess's error, or
every epoch was one step, of `whole` examples or more, and there were fewer than `short` of them.

## When it is wrong
A schedule that decays the learning rate to zero makes a loss fall at the end, and going on with that rate would not.

## What to try
1. Look for what ended it: an early-stopping test the wrong way round, a batch size that is the length of the data.
2. Train longer: start again with the schedule stretched, or continue from the last checkpoint with warm-up.

## Example
>>> from bedside.testing import a_run
>>> print(*still_falling.check(a_run(loss=[3.0 - 0.01 * k + 0.02 * (k % 3) for k in range(200)], finished=True)))
LOS110 still-falling: The loss was still falling when the run ended: by 0.49 over its last quarter, to 1.08.

## References
- Hoffmann et al. (2022), Training compute-optimal large language models: schedules must match the length of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bedside.analysis.losses import called, loss_to_fall
from bedside.analysis.progress import learned_to_the_end
from bedside.analysis.simple_models import TRAINING, behind
from bedside.analysis.statistics import how_sure, outline, trend
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.advice import train_longer
from bedside.rules.base import rule
from bedside.wording import count, number


@dataclass(frozen=True)
class Limits:
    fewest: int = 40  # readings: ten in the last quarter
    last: float = 0.25  # of the readings
    lost: float = 0.1  # of its progress: it was better before, by more than a curve wanders
    gain: float = 0.05  # of the level: what one would train longer for
    steep: float = 0.15  # of all progress: a steady pace wins a quarter, runs that settle a tenth of that
    apart: float = 0.06  # of a blind guess's error: of a few hundred examples, less can be chance
    whole: int = 1000  # examples: a data set for which a batch is usually a part of it
    several: int = 3  # epochs that were logged
    short: int = 500  # steps: full-batch training on purpose takes thousands


@rule("LOS110", severity=Severity.NOTE, needs=[], limits=Limits())
def still_falling(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.finished:
        raise NotEnough("a finished run")
    series = loss_to_fall(run, limits.fewest)
    end = series.tail(int(limits.last * len(series)))
    curve = outline(series)
    slope, now = trend(end), curve.now
    if now - curve.best > max(2 * curve.wander, limits.lost * curve.progress):
        return  # it comes back from somewhere, and only to where it has been
    if not slope.falling or -slope.change < limits.gain * abs(now):
        return
    too_soon = _too_soon(run, limits)
    yield still_falling.finding(
        f"The {called(series)} was still falling when the run ended: by {number(-slope.change)} over its last quarter, "
        f"to {number(now)}{too_soon}.",
        severity=Severity.WARNING if too_soon else None,
        first_step=end.first_step,
        last_step=end.last_step,
        confidence=how_sure(-slope.change, limits.gain * abs(now)),
        evidence={"fell": -slope.change, "now": now},
        series=[series.key, "lr"],
        could_also_be=["the effect of a learning rate that was just lowered, which does not go on."],
        try_=[train_longer(run)],
    )


def _too_soon(run: Run, limits: Limits) -> str:
    """Why it cannot have been meant to end there, fit to end a sentence; empty if it can."""
    if not learned_to_the_end(run, limits.steep):
        return ""
    if (beside := behind(run, limits.apart)) is not None:
        return (
            f"; {beside.name}, fitted to a few hundred of its examples, is {beside.words(beside.simple)}, and the "
            f"network {beside.words(beside.network)}"
        )
    epochs, facts = run.series("epoch").finite(), run.config.get(TRAINING)
    if len(epochs) < limits.several or not isinstance(facts, Mapping) or run.steps >= limits.short:
        return ""
    per_epoch = (epochs.last_step - epochs.first_step) / max(float(epochs.values[-1] - epochs.values[0]), 1.0)
    if per_epoch != 1 or int(facts.get("asked", 0)) < limits.whole:
        return ""
    return f", and every epoch is one step, of {count(int(facts['asked']))} examples: {count(run.steps)} steps in all"
