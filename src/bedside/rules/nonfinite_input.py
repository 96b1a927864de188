"""The batch itself holds NaN or infinity.

## What it sees
NaN or infinity in what the model is given, or in the targets that the loss is given.

## Why it matters
One bad number in one sample makes the loss of the whole batch NaN, and one step with its gradient makes every weight
NaN. No learning rate helps: the sample has to go.

## How it decides
Inputs and targets are added up on sampled steps, and checked again when a loss was not finite. While the loss stays
finite nevertheless, the model deals with it, and it is a note.

## When it is wrong
Models that take NaN for "missing" and replace it themselves: then the loss stays finite.

## What to try
1. Find the sample: `torch.isfinite(x).all()` in the data set's `__getitem__`, and drop or repair it.
2. Look for a division by a zero standard deviation in the normalisation, and for empty fields in the source.

## Example
>>> from bedside.testing import a_run
>>> nan = float("nan")
>>> print(*nonfinite_input.check(a_run(loss=[1.0] * 60 + [nan] * 40, nonfinite_inputs=[0] * 60 + [1] + [0] * 39)))
DAT101 nonfinite-input: The input of step 60 holds NaN or infinity, and the loss is not finite since.

## References
- Karpathy (2019), A recipe for training neural networks: become one with the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import INPUT_RMS, LOSS, NONFINITE_INPUTS, NONFINITE_TARGETS
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import plural


@dataclass(frozen=True)
class Limits:
    """A number is finite or it is not: nothing to set."""


@rule("DAT101", severity=Severity.ERROR, needs=[], limits=Limits())
def nonfinite_input(run: Run, limits: Limits) -> Iterator[Finding]:
    if not any(run.has(each.name) for each in (NONFINITE_INPUTS, NONFINITE_TARGETS, INPUT_RMS)):
        raise NotEnough(f"{NONFINITE_INPUTS.name} (a watched run)")
    bad = sorted(_bad_inputs(run) | _bad_targets(run))
    if not bad:
        return
    step = bad[0]
    what = "input" if step in _bad_inputs(run) else "targets"
    losses = run.series(LOSS.name)
    here = losses.since(step).head(1)
    died = bool(len(losses)) and not np.isfinite(losses.values[-1])
    hurt = bool(len(here)) and not np.isfinite(here.last)
    verb = "holds" if what == "input" else "hold"
    result = (
        ", and the loss is not finite since"
        if died
        else ", and so its loss was not finite"
        if hurt
        else "; the loss stayed finite"
    )
    again = f" ({plural(len(bad), 'step')} in all)" if len(bad) > 1 else ""
    yield nonfinite_input.finding(
        f"The {what} of {moment(run, step)} {verb} NaN or infinity{result}{again}.",
        severity=None if died else Severity.WARNING if hurt else Severity.NOTE,
        first_step=step,
        last_step=bad[-1],
        confidence=0.98,
        evidence={"bad_steps": len(bad), "what": what, "loss_at_that_step_finite": not hurt},
        series=[LOSS.name, NONFINITE_INPUTS.name, NONFINITE_TARGETS.name],
        try_=(
            f"Look at the batch of {moment(run, step)}: check torch.isfinite(x).all() in the data set, and drop the "
            "sample.",
            "Look for a division by a zero standard deviation, and for empty fields in the source.",
        ),
    )


def _bad_inputs(run: Run) -> set[int]:
    counted = run.series(NONFINITE_INPUTS.name)
    sizes = run.series(INPUT_RMS.name)
    hunted = [
        event.step
        for event in run.events_of("origin")
        if event.data.get("kind") == "input" and not event.data.get("weights")  # broken weights break what comes after
    ]
    return {*counted.steps[counted.values > 0].tolist(), *sizes.steps[~np.isfinite(sizes.values)].tolist(), *hunted}


def _bad_targets(run: Run) -> set[int]:
    counted = run.series(NONFINITE_TARGETS.name)
    hunted = [event.step for event in run.events_of("origin") if event.data.get("targets_finite") is False]
    return {*counted.steps[counted.values > 0].tolist(), *hunted}
