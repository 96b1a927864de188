"""The loss falls below zero and keeps falling, ever faster.

## What it sees
A loss far below zero that does not slow down.

## Why it matters
A loss that has no lower bound has no minimum to train towards. A sign is wrong (a score is minimised that should be
maximised), a term was left out, or a likelihood found a way to become infinite, a variance that shrinks to nothing.

## How it decides
Now it is negative, and further below its start than `far` times its first value and its noise; over the last third it
fell as fast as over the third before (`pace`), or faster, and that is a good part of the whole fall (`share`). A fall
of `beyond` times its first value, and one, needs no more. Losses that are negative by design (dice, log-likelihoods,
the score of a critic whose weights are clipped) slow down as they near their bound, and then neither third falls by
anything to speak of.

## When it is wrong
The first part of a long density-estimation run.

## What to try
1. Check the sign of each term of the loss on one batch by hand.
2. Bound the variance from below (softplus + 1e-3), or the density ratio from above.

## Example
>>> from bedside.testing import a_run
>>> print(*unbounded_negative_loss.check(a_run(loss=[1.0 - 0.002 * k * k for k in range(100)])))
LOS112 unbounded-negative-loss: The loss is -17.8 and falls ever faster: by 10.9 over the last third, 6.53 before that.

## References
- Kendall and Gal (2017), What uncertainties do we need in Bayesian deep learning: likelihoods with learned variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import called, loss_without_floor
from bedside.analysis.statistics import how_sure, outline
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    fewest: int = 50  # readings: any curve falls ever faster over its first few
    far: float = 10.0  # times its first value, and its noise: dice and bits per dimension stay within a few units
    beyond: float = 1e3  # times its first value, and one: a sum over a picture's pixels falls by a few hundred times
    pace: float = 0.9  # of the fall of the third before: anything that converges slows down by more
    share: float = 0.2  # of the whole fall: a straight line has a third of it in its last third


@rule("LOS112", severity=Severity.WARNING, needs=[], limits=Limits())
def unbounded_negative_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    series = loss_without_floor(run, limits.fewest)
    curve = outline(series)
    first, end = float(np.median(series.values[:5])), series.median(max(10, len(series) // 10))
    beyond = end < 0 and first - end > limits.beyond * max(abs(first), 1.0)  # orders of magnitude need no noise
    fall = first - end if beyond else curve.start - curve.now
    if not beyond and (curve.now >= 0 or fall < limits.far * max(abs(curve.start), curve.noise)):
        return
    levels = np.interp(np.linspace(0, 1, 4), np.linspace(0, 1, len(curve.values)), curve.values)
    middle, last = float(levels[1] - levels[2]), float(levels[2] - levels[3])
    if last < max(limits.pace * middle, limits.share * fall) and not beyond:
        return
    how = (
        f"{number(end)}, where it began at {number(first)}"
        if beyond
        else f"{number(curve.now)} and falls ever faster: by {number(last)} over the last third, {number(middle)} "
        "before that"
    )
    below = np.flatnonzero(curve.values < 0)
    yield unbounded_negative_loss.finding(
        f"The {called(series)} is {how}.",
        first_step=int(curve.steps[below[0]]),
        last_step=series.last_step,
        confidence=0.9 if beyond else how_sure(fall, limits.far * max(abs(curve.start), curve.noise) / 2),
        evidence={"start": curve.start, "now": curve.now, "last_third": last, "middle_third": middle},
        series=[series.key],
        could_also_be=["a likelihood of continuous data that is still far from its best: wait as long again."],
        try_=[
            "Compute each term of the loss by hand on one batch, and check its sign.",
            "Bound what may shrink or grow without end: variance = softplus(x) + 1e-3.",
        ],
    )
