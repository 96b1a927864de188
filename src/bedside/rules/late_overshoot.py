"""Late in training the steps grow again while the loss stands still: the optimizer overshoots a flat basin.

## What it sees
‖update‖ / ‖weights‖ rises in the second half of the run, although the learning rate does not and the loss is flat.

## Why it matters
Near a minimum gradients should fade and steps with them. Steps that grow without gain bounce between the walls of the
basin, and the end of the run is spent on that.

## How it decides
By blocks of the second half: the last quarter's relative update is `grown` times that of the run's middle, the trend is
beyond chance, the learning rate is not above what it was then, and the loss is not falling.

## When it is wrong
Weights that shrink under weight decay: the same step is larger against them.

## What to try
1. Decay the learning rate towards the end.
2. A larger batch, if gradients have become mostly noise.

## Example
>>> from bedside.testing import a_run
>>> ratio = [1e-3] * 150 + [1e-3 * 1.02**k for k in range(150)]
>>> print(*late_overshoot.check(a_run(loss=[0.5] * 300, lr=1e-3, relative_update_norm=ratio)))
UPD103 late-overshoot: A step grew from 0.001 of the weights to 0.0134 over the second half, and the loss stands at \
0.5.

## References
- Cohen et al. (2021), Gradient descent on neural networks typically occurs at the edge of stability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.losses import training_loss_to_fall
from bedside.analysis.statistics import trend
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM, LOSS, LR, PARAM_NORM, RELATIVE_UPDATE
from bedside.rules.advice import LEARNING_RATE, learning_rate, new_learning_rate
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    grown: float = 2.0  # times: noise of a block is far smaller
    gain: float = 0.02  # of the loss over the second half: then the steps pay
    readings: int = 100  # enough for a second half with blocks in it


@rule("UPD103", severity=Severity.WARNING, needs=[RELATIVE_UPDATE, LOSS, LR], limits=Limits(), preview_since="0.1")
def late_overshoot(run: Run, limits: Limits) -> Iterator[Finding]:
    ratios = spread_evenly(run.series(RELATIVE_UPDATE.name).finite())
    if len(ratios) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of relative_update_norm, has {len(ratios)}")
    n = len(ratios)
    middle, half = ratios.head(n // 2).median(n // 8), ratios.tail(n // 2)
    last = ratios.median(n // 8)
    if not last > limits.grown * middle or not trend(half).rising:
        return
    begun, ended = half.first_step, half.last_step
    if learning_rate(run, ended) > 1.05 * learning_rate(run, begun):
        return
    loss = training_loss_to_fall(run, fewest=limits.readings).since(begun)
    norms = run.series(PARAM_NORM.name).finite()
    shrank = norms and norms.last < 0.7 * norms.before(begun + 1).median(5)
    level, then = loss.median(n // 8), loss.head(n // 8).median()
    if shrank or trend(loss).falling or level < then - limits.gain * abs(then):
        return
    rate = learning_rate(run, ended)
    yield late_overshoot.finding(
        f"A step grew from {number(middle)} of the weights to {number(last)} over the second half, and the loss stands "
        f"at {number(level)}.",
        first_step=begun,
        last_step=ended,
        confidence=0.6,
        evidence={"middle": middle, "last": last, "grown": last / middle},
        series=[RELATIVE_UPDATE.name, LOSS.name, LR.name, GRAD_NORM.name],
        could_also_be=(_at_its_floor(run, begun),),
        try_=(
            new_learning_rate(rate, rate / 10),
            Advice(f"Decay the learning rate to zero by the end, from step {begun:,} on.", LEARNING_RATE, -1),
        ),
    )


def _at_its_floor(run: Run, begun: int) -> str:
    """Only noise is left, unless held-out data say that there was more to win."""
    held_out = run.series("val/loss").finite()
    before, after = held_out.before(begun + 1), held_out.since(begun + 1)
    if not before or not after:
        return "A loss at its floor, where only noise is left."
    lowest, now = float(before.values.min()), after.last
    return "" if now > lowest else f"A loss at its floor: val/loss is {number(now)}, and was {number(lowest)} before."
