"""Weights are NaN or infinite: the model is lost, whatever the loss says.

## What it sees
After a step, parameter tensors that hold a NaN or an infinity, or buffers that do (running statistics).

## Why it matters
A NaN weight makes NaN outputs, and no gradient brings it back. The checkpoint written next is worthless, and some loops
report a loss of zero for it.

## How it decides
The count of bad tensors after each step is above zero to the end of the run. Whether the gradient of that step was
finite tells who did it: the backward pass, or the step itself (a division by zero in the optimizer, an overflow of
half-precision weights, a hand that edited them). Buffers are looked at on sampled steps: a batch whose step was skipped
because its loss was NaN has been through BatchNorm all the same.

## When it is wrong
Models that keep −inf in a parameter on purpose (masks belong in buffers).

## What to try
1. Restore the last checkpoint from before that step.
2. When gradients were finite: raise the optimizer's eps, or keep the weights in float32.
3. When they were not: see nonfinite-gradient.
4. For running statistics: check the batch before the forward, and call `norm.reset_running_stats()`.

## Example
>>> from bedside.testing import a_run
>>> print(*nonfinite_weights.check(a_run(loss=[2.0] * 100, nonfinite_params=[0] * 60 + [8] * 40)))
NUM103 nonfinite-weights: 8 parameter tensors hold NaN or infinity from step 60 on.

## References
- Kingma and Ba (2015), Adam: the role of epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves, places
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM, LOSS, NONFINITE_GRADS, NONFINITE_PARAMS, PARAM_NORM
from bedside.rules.advice import go_back, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import listed, plural


@dataclass(frozen=True)
class Limits:
    """A number is finite or it is not: nothing to set."""


@rule("NUM103", severity=Severity.ERROR, needs=[NONFINITE_PARAMS], limits=Limits())
def nonfinite_weights(run: Run, limits: Limits) -> Iterator[Finding]:
    yield from _buffers(run)
    counts = run.series(NONFINITE_PARAMS.name)
    bad = ~(counts.values == 0)  # a count that could not be taken is not zero either
    if not len(bad) or not bad[-1]:
        return
    good = np.flatnonzero(~bad)
    start = int(good[-1]) + 1 if len(good) else 0
    first = int(counts.steps[start])
    where = _where(run, first)
    grads = run.series(NONFINITE_GRADS.name).since(first).head(1)
    norms = run.series(GRAD_NORM.name).since(first).head(1)
    finite = (not grads or grads.last == 0) and len(norms) > 0 and math.isfinite(norms.last)
    how_many = int(counts.values[start]) if math.isfinite(counts.values[start]) else 0
    place = f", first in {listed(f'`{name}`' for name in where)}" if where else ""
    yield nonfinite_weights.finding(
        f"{plural(how_many, 'parameter tensor')} {'holds' if how_many == 1 else 'hold'} NaN or infinity from "
        f"{moment(run, first)} on{place}{', although the gradient of that step was finite' if finite else ''}.",
        first_step=first,
        last_step=counts.last_step,
        confidence=0.99,
        where=where,
        evidence={"tensors": how_many, "gradient_was_finite": finite},
        series=[NONFINITE_PARAMS.name, GRAD_NORM.name, LOSS.name],
        could_also_be=("A checkpoint that was loaded with bad weights.",) if start == 0 else (),
        try_=[
            go_back(run, first),
            "Raise the optimizer's eps from 1e-8 to 1e-6, and keep the weights in float32."
            if finite
            else lower_learning_rate(run, max(0, first - 1)),
        ],
    )


def _buffers(run: Run) -> Iterator[Finding]:
    events = run.events_of("nonfinite_buffers")
    weights = run.series(NONFINITE_PARAMS.name)
    if not events or (len(weights) and weights.last != 0):  # bad weights make bad statistics
        return
    first, names = events[0].step, [name for event in events for name in event.data["names"]]
    where = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
    yield nonfinite_weights.finding(
        f"The buffers {listed(f'`{name}`' for name in names[:4])} hold NaN or infinity from {moment(run, first)} on, "
        "although all weights are finite: every evaluation uses them.",
        first_step=first,
        last_step=max(first, run.steps - 1),
        confidence=0.97,
        where=where,
        evidence={"buffers": names[:20]},
        series=[LOSS.name, "val/loss"],
        could_also_be=("Buffers that hold infinity on purpose, as masks do.",),
        try_=[
            f"Look at the inputs of {moment(run, first)}, and check them before the forward: a batch that is skipped "
            "after it has already been through the normalisation.",
            "Set the statistics back: module.reset_running_stats().",
        ],
    )


def _where(run: Run, first: int) -> list[str]:
    """The modules whose weights went bad at that step, unless all did at once."""
    everyone = leaves(run, PARAM_NORM)
    bad = [s.owner for s in everyone if len(at := s.since(first).head(1)) and not math.isfinite(at.last)]
    return places(bad, of=[s.owner for s in everyone]) if len(bad) < len(everyone) else []
