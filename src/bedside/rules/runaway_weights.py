"""The weights grow faster and faster, or have grown out of all proportion, and the loss is no better for it.

## What it sees
A weight norm that bends upwards and has multiplied, while the loss stands still or rises.

## Why it matters
Healthy weights grow a little, ever more slowly. Growth that feeds itself (larger weights, larger gradients, larger
steps) ends in saturation or overflow.

## How it decides
Either `grown` times as large as at a tenth of the run, with each quarter adding more than the one before, or `blown`
times as large as at the first step, in whatever way. In both cases the loss must not be better now than it was while
the weights were still calm; only a growth that is faster and faster and more than `tenfold` counts in any case.
Modules are named when their own norm has multiplied likewise.

Or, without waiting for any of this: a step cannot lengthen the weights by more than its own length. Where the norm
grows at nearly every step (`mostly`), by `by_others` times the length of the step and by `pace` or more at the median,
and has grown by `felt` in all, something beside the optimizer multiplies the weights, and will go on doing so. Runs
with several optimizers are not judged so: one of them may move what the other's steps do not show.

## When it is wrong
Norms that start at almost nothing. It judges the whole model, so that a zero-initialised layer does not count.

## What to try
1. Lower the learning rate.
2. Weight decay (AdamW: 0.01 to 0.1).
3. Clip the gradient, if its norm grows together with the weights.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[2.0] * 200, param_norm=[10 * 1.02**k for k in range(200)])
>>> print(*runaway_weights.check(run))
WGT101 runaway-weights: The weights grew 33-fold after step 20, from 14.9 to 495, faster and faster, and the loss did \
not improve.

## References
- Molybog et al. (2023), A theory on Adam instability in large-scale machine learning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves, places
from bedside.analysis.optimizers import optimizers, weight_decay
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, LOSS, PARAM_NORM, RELATIVE_UPDATE
from bedside.rules.advice import WEIGHT_DECAY, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.rules.what_was_seen import units_at_their_ends
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    healthy: float = 3.0  # times: the most that 96 healthy small nets grew after their first tenth; dated from here
    grown: float = 5.0  # times, well beyond that; healthy ones also grow ever more slowly
    tenfold: float = 10.0  # times, faster and faster: it ends badly, whatever the loss says until then
    blown: float = 30.0  # times: no healthy net multiplies its weights like that
    start: float = 0.1  # of the run, where the comparison begins: initialisations may be tiny
    better: float = 0.95  # of the earlier loss: an improvement that growth could be paying for
    readings: int = 20  # two in each of the nine parts that show the bend
    by_others: float = 2.0  # times the step: by the triangle inequality it is 1 at most, with a single optimizer
    pace: float = 3e-3  # of the norm per step: doubled in 230 steps; as hard as a decay that shrinking-weights minds
    felt: float = 0.05  # of the norm: beyond what projections and constraints of the weights put back
    mostly: float = 0.9  # of the readings grow: a habit, no single edit


@rule("WGT101", severity=Severity.WARNING, needs=[PARAM_NORM], limits=Limits())
def runaway_weights(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = spread_evenly(run.series(PARAM_NORM.name).finite())
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} finite readings of param_norm, has {len(norms)}")
    if by_others := _multiplied(run, limits):
        yield by_others
        return
    start = int(limits.start * len(norms))
    faster = _bends_upwards(norms, start)
    start = start if faster else 0
    before, after = float(norms.values[start]), norms.median(5)
    growth = after / before if before > 0 else 0.0
    improved = _loss_improved(run, norms, start, limits)
    if growth < (limits.grown if faster else limits.blown) or (improved and not (faster and growth > limits.tenfold)):
        return
    first = int(norms.steps[start + int(np.argmax(norms.values[start:] > limits.healthy * before))])
    owners = [series.owner for series in leaves(run, PARAM_NORM)]
    grown = [s.owner for s in leaves(run, PARAM_NORM) if _grew(s, limits) >= growth / 2]
    where = places(grown, of=owners) if len(grown) < len(owners) else []
    decay = weight_decay(run)
    worst = f", most of all `{where[0]}`" if where else ""
    yield runaway_weights.finding(
        f"The weights grew {number(growth, 2)}-fold after {moment(run, int(norms.steps[start]))}, "
        f"from {number(before)} to {number(after)}{', faster and faster' if faster else ''}{worst}, "
        f"and the loss {'has not suffered yet' if improved else 'did not improve'}.",
        first_step=first,
        last_step=norms.last_step,
        confidence=0.9 if growth > 3 * limits.grown and faster else 0.75,
        where=where,
        evidence={"growth": growth, "norm_before": before, "norm_now": after, "faster_and_faster": faster},
        series=[PARAM_NORM.name, GRAD_NORM.name, LOSS.name],
        could_also_be=(units_at_their_ends(run),),
        try_=(
            lower_learning_rate(run, first),
            Advice(
                f"Add weight decay{'' if np.isnan(decay) else f' (now {number(decay)})'}: 0.01 to 0.1 with AdamW.",
                WEIGHT_DECAY,
                1,
            ),
        ),
    )


def _multiplied(run: Run, limits: Limits) -> Finding | None:
    """Steady growth that the optimizer's own steps are too short for, by the triangle inequality."""
    norms, steps = run.series(PARAM_NORM.name).finite(), run.series(RELATIVE_UPDATE.name).finite()
    _, at, where = np.intersect1d(norms.steps, steps.steps, return_indices=True)
    after, length = norms.values[at], steps.values[where]
    neighbours = np.flatnonzero((np.diff(norms.steps[at]) == 1) & (after[:-1] > 0))
    if len(neighbours) < limits.readings or len(optimizers(run)) > 1:
        return None
    times = after[neighbours + 1] / after[neighbours]
    growth, moved = times - 1, length[neighbours + 1] * times  # a step is recorded as a share of the weights it made
    pace, most = float(np.median(growth)), float(np.median(moved))
    first, now = float(after[neighbours[0]]), float(after[-1])
    steadily = float(np.mean(growth > limits.by_others * moved)) >= limits.mostly
    if not steadily or pace < limits.pace or now < (1 + limits.felt) * first:
        return None
    return runaway_weights.finding(
        f"The weights grow by {number(pace, 2)} of their norm at every step, from {number(first)} to {number(now)}, "
        f"and the optimizer's steps are {number(most, 2)} of it long: something else multiplies them.",
        first_step=norms.first_step,
        last_step=norms.last_step,
        confidence=0.95,
        evidence={"growth_per_step": pace, "relative_update": most, "norm_before": first, "norm_now": now},
        series=[PARAM_NORM.name, RELATIVE_UPDATE.name, LOSS.name],
        could_also_be=("Another optimizer that is not watched: name it in watch(model, [first, second]).",),
        try_=(
            "Look for what changes the weights outside optimizer.step(): a decay written by hand with the wrong sign, "
            "a constraint, an average that is copied back.",
        ),
    )


def _bends_upwards(norms: Series, start: int) -> bool:
    """Whether every quarter adds more than the one before."""
    values = norms.values[start:]
    ends = [float(np.median(part)) for part in np.array_split(values, 9)][::2]
    added = np.diff(ends)
    return bool((added > 0).all() and (np.diff(added) > 0).all())


def _loss_improved(run: Run, norms: Series, start: int, limits: Limits) -> bool:
    """Whether the loss is better now than while the weights were still near where they began."""
    loss = run.loss
    if not loss or not np.isfinite(loss.values[-max(1, len(loss) // 10) :]).all():
        return False  # it overflowed, or nobody looked
    calm = int(norms.steps[start + int(np.argmax(norms.values[start:] > 1.5 * norms.values[start]))])
    then, now = loss.before(calm + 1).median(10), loss.median(max(5, len(loss) // 10))
    return now < then - (1 - limits.better) * abs(then)


def _grew(series: Series, limits: Limits) -> float:
    values = series.finite().values
    start = float(values[int(limits.start * len(values))]) if len(values) else 0.0
    return float(np.median(values[-5:])) / start if start > 0 else 0.0
