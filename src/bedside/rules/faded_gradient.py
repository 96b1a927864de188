"""The gradient is all but gone, although the loss has hardly moved.

## What it sees
An overall gradient norm that is a minute part of what it was, at a loss close to where it began.

## Why it matters
A small gradient at a small loss is a job done. A small gradient at a large loss is a plateau without a slope: saturated
outputs, dead units, a constant prediction. No step leads away from it.

## How it decides
The median norm of the last quarter is below `faded` of its median in the first tenth, while the loss is above `high`
of its first value; or it is zero at every reading, `nothing` or more, beside a loss of `counted` or more that stays
`still`. Only the overall norm is needed; where modules are recorded, dead-layer and vanishing-gradient say
more.

## When it is wrong
Losses whose floor is far above zero (label noise, entropy of the data) in runs that begin near that floor: fine-tuning.

## What to try
1. Look at the outputs: are they the same for every input?
2. Begin again with a smaller learning rate; the way into a plateau is often one large step.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[2.3] * 300, grad_norm=[1.0] * 50 + [1e-6] * 250, lr=0.1)
>>> print(*faded_gradient.check(run))
GRD109 faded-gradient: The gradient norm faded from 1 to 1e-6 by step 50, with the loss still at 2.3.

## References
- Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import meant_to_fall, training_loss_to_fall
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, LOSS, LR
from bedside.rules.advice import lower_learning_rate, moment, scale_the_loss
from bedside.rules.base import rule
from bedside.rules.what_was_seen import outputs_do_not_depend_on_the_input, units_at_their_ends
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    faded: float = 1e-3  # of the early norm; healthy runs that keep 80 % of their loss stay above 0.1
    high: float = 0.8  # of the first loss: hardly anything was learned
    nothing: int = 4  # readings that are all zero, of a norm that rounds to that
    counted: float = 0.5  # of a loss: far above what a norm that is rounded to zero could belong to
    still: float = 0.02  # of the level: a loss that moves by more has a gradient, whatever was logged for it
    readings: int = 24  # two in the first tenth, six in the last quarter


@rule("GRD109", severity=Severity.WARNING, needs=[GRAD_NORM, LOSS], limits=Limits())
def faded_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = run.series(GRAD_NORM.name).finite()
    if nothing := _nothing_at_all(run, norms, limits):
        yield nothing
        return
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grad_norm, has {len(norms)}")
    loss = training_loss_to_fall(run, fewest=limits.readings // 2)
    early, now = float(np.median(norms.values[: len(norms) // 10])), spread_evenly(norms, 0.75).median()
    start, end = float(np.median(loss.values[:5])), loss.median(max(5, len(loss) // 10))
    if not now < limits.faded * early or start <= 0 or end < limits.high * start:
        return
    strong = np.flatnonzero(norms.values > 0.1 * early)
    first = int(norms.steps[min(len(norms) - 1, int(strong[-1]) + 1)])
    yield faded_gradient.finding(
        f"The gradient norm faded from {number(early, 2)} to {number(now, 2)} by {moment(run, first)}, with the loss "
        f"still at {number(end)}.",
        first_step=first,
        last_step=norms.last_step,
        confidence=0.8,
        evidence={"early": early, "now": now, "loss": [start, end]},
        series=[GRAD_NORM.name, LOSS.name, LR.name],
        could_also_be=("A loss that begins at its floor (a trained model): evaluate it on the task itself.",),
        try_=(
            scale_the_loss(run),
            outputs_do_not_depend_on_the_input(run),
            units_at_their_ends(run),
            lower_learning_rate(run, max(0, first - 1)),
        ),
    )


def _nothing_at_all(run: Run, norms: Series, limits: Limits) -> Finding | None:
    """A gradient of zero at every reading, beside a loss that does not move either."""
    loss = run.loss.finite()
    if run.parameters:  # watched: rules that look at parameters and modules say where it ends
        return None
    if len(norms) < limits.nothing or norms.values.any() or len(loss) < limits.nothing or not meant_to_fall(run):
        return None
    level = loss.median()
    if level < limits.counted or float(np.ptp(loss.values)) > limits.still * level:
        return None
    return faded_gradient.finding(
        f"The gradient norm is zero at all {len(norms)} readings, and the loss stays at {number(level)}.",
        first_step=norms.first_step,
        last_step=norms.last_step,
        confidence=0.85,
        evidence={"early": 0.0, "now": 0.0, "loss": [float(loss.values[0]), loss.last]},
        series=[GRAD_NORM.name, LOSS.name, LR.name],
        could_also_be=("A norm that is read after the gradients were cleared: log it before zero_grad().",),
        try_=(
            "Look at one parameter after backward(): is requires_grad on, and is there a gradient?",
            outputs_do_not_depend_on_the_input(run),
        ),
    )
