"""Clipping is on and has never done anything.

## What it sees
A clip threshold far above every gradient norm of the run.

## Why it matters
It does no harm. But a seat belt that is a hundred times too long is none: the spike that it was meant for would pass.

## How it decides
The largest norm of the run is below `idle` of the threshold. A note, never an alarm.

## When it is wrong
Thresholds set high on purpose, as a guard against overflow only.

## What to try
1. A threshold of a few times the largest usual norm.

## Example
>>> from bedside.testing import a_run
>>> print(*idle_clipping.check(a_run(loss=[2.0] * 200, grad_norm=[0.02, 0.03] * 100, clip_threshold=1.0)))
GRD110 idle-clipping: Clipping at 1 has never acted: the largest gradient norm of the run is 0.03.

## References
- Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import CLIP_THRESHOLD, GRAD_NORM
from bedside.rules.advice import CLIPPING, one_digit
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    idle: float = 0.1  # of the threshold: even ten times the worst step would pass
    readings: int = 100  # wild steps are rare: fewer readings would not have seen one


@rule("GRD110", severity=Severity.NOTE, needs=[GRAD_NORM, CLIP_THRESHOLD], limits=Limits())
def idle_clipping(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = run.series(GRAD_NORM.name).finite()
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grad_norm, has {len(norms)}")
    threshold, largest = run.series(CLIP_THRESHOLD.name).median(), float(norms.values.max())
    if not 0 < largest < limits.idle * threshold:
        return
    yield idle_clipping.finding(
        f"Clipping at {number(threshold)} has never acted: the largest gradient norm of the run is {number(largest)}.",
        first_step=norms.first_step,
        last_step=norms.last_step,
        confidence=0.95,
        evidence={"threshold": threshold, "largest": largest, "usual": norms.median()},
        series=[GRAD_NORM.name, CLIP_THRESHOLD.name],
        try_=(
            Advice(
                f"Lower the threshold from {number(threshold)} to about {number(one_digit(3 * largest))}.", CLIPPING, -1
            ),
        ),
    )
