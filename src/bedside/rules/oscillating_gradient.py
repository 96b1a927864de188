"""The gradient norm bounces from step to step: high, low, high, low.

## What it sees
Neighbouring gradient norms that alternate by a factor, for most of the run.

## Why it matters
A step that overshoots the minimum lands on the other wall, where the gradient is large and points back. The run spends
its steps on crossing the valley instead of walking along it.

## How it decides
The logarithm of the norm has a strongly negative correlation with its predecessor (below −`bounce`) in most stretches
of the second half, and the bounce is at least `swing`-fold. Random noise has a correlation of zero, and everything
slow a positive one. Only for runs logged at every step: at an interval a bounce looks like chance.

## When it is wrong
Two kinds of batches that take turns (two data sets, a generator and a discriminator).

## What to try
1. Lower the learning rate two- to threefold: half of the critical rate does not bounce.
2. Momentum averages a bounce out.

## Example
>>> from bedside.testing import a_run
>>> print(*oscillating_gradient.check(a_run(loss=[2.0] * 200, lr=0.5, grad_norm=[1.0, 8.0] * 100)))
GRD106 oscillating-gradient: The gradient norm bounces between 1 and 8 from step to step since step 0.

## References
- Cohen et al. (2021), Gradient descent on neural networks typically occurs at the edge of stability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Values
from bedside.record.vocabulary import GRAD_NORM, LOSS, LR
from bedside.rules.advice import lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.rules.what_was_seen import batches_take_turns
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    bounce: float = 0.5  # correlation of neighbours: noise of 40 readings reaches 0.3 once in twenty
    swing: float = 2.0  # times between high and low: a wiggle below that costs nothing
    stretch: int = 40  # readings judged together
    most: float = 0.7  # of the stretches in the second half
    readings: int = 160  # two stretches in each half


@rule("GRD106", severity=Severity.WARNING, needs=[GRAD_NORM], limits=Limits(), preview_since="0.1")
def oscillating_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = run.series(GRAD_NORM.name).finite()
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grad_norm, has {len(norms)}")
    if np.diff(norms.steps[-limits.readings :]).max() > 1 or run.axis != "step":
        raise NotEnough("grad_norm at every step")
    logs = np.log(np.maximum(norms.values, 1e-30))
    count = len(logs) // limits.stretch
    stretches = logs[-count * limits.stretch :].reshape(count, limits.stretch)
    correlation = _with_the_one_before(stretches)
    swings = np.exp(np.median(np.abs(np.diff(stretches, axis=1)), axis=1))
    hit = (correlation < -limits.bounce) & (swings >= limits.swing)
    if hit[count // 2 :].mean() < limits.most:
        return
    first = int(norms.steps[len(logs) - count * limits.stretch + int(np.argmax(hit)) * limits.stretch])
    recent = norms.values[-limits.stretch :]
    low, high = float(np.percentile(recent, 25)), float(np.percentile(recent, 75))
    yield oscillating_gradient.finding(
        f"The gradient norm bounces between {number(low)} and {number(high)} from step to step since "
        f"{moment(run, first)}.",
        first_step=first,
        last_step=norms.last_step,
        confidence=0.7,
        evidence={"low": low, "high": high, "correlation": float(np.median(correlation))},
        series=[GRAD_NORM.name, LOSS.name, LR.name],
        could_also_be=(batches_take_turns(run),),
        try_=(lower_learning_rate(run, norms.last_step, 3.0),),
    )


def _with_the_one_before(stretches: Values) -> Values:
    """Correlation of a reading with the one before it, per stretch, a line taken out of each."""
    x = stretches - stretches.mean(axis=1, keepdims=True)
    time = np.arange(x.shape[1]) - (x.shape[1] - 1) / 2
    x = x - np.outer(x @ time / (time @ time), time)
    spread = np.maximum((x * x).sum(axis=1), 1e-300)
    return np.asarray((x[:, 1:] * x[:, :-1]).sum(axis=1) / spread)
