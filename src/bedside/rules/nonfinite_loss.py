"""The loss is NaN or infinite, and stays so.

## What it sees
A training or validation loss that turned NaN or infinite and did not come back; where a run logs parts of its loss
and no total, as adversarial training does, any of the parts. Single readings that are followed by finite ones are
only noted; steps that a gradient scaler skipped are not mentioned. Some trainers write `0.0` where the loss was NaN:
a loss that drops to exactly zero at once, beside NaN gradients, counts as NaN.

## Why it matters
One optimizer step with a NaN gradient makes the weights NaN, and nothing after that is training. Every further
step is paid for and thrown away.

## How it decides
The last reading is not finite, or more than `share` of the readings since the first bad one are not. A loss that was
never finite counts as well. Otherwise the run recovered, which is a note.

## When it is wrong
A validation loss may be NaN because the set was empty or masked away, with training quite well; then the finding
names the validation loss only, and is a warning.

## What to try
1. Lower the learning rate tenfold; clip gradients to norm 1.
2. If it happened within the first readings, suspect an operation and not the optimisation: log of zero, division by
   zero, a fully masked softmax, NaN in the data.
3. With float16, use a gradient scaler, or bfloat16.

## Example
>>> from bedside.testing import a_run
>>> print(*nonfinite_loss.check(a_run(loss=[2.3, 2.1, 8.0, float("nan"), float("nan")])))
NUM101 nonfinite-loss: The loss is NaN since step 3, in all 2 readings to the end; the last finite value was 8.

## References
- Micikevicius et al. (2018), Mixed precision training.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.analysis.losses import training_loss, validation_losses
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import clip_gradient, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import number, plural


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the readings since the first bad one: skipped steps are a few percent, NaN weights all
    early: int = 3  # readings: optimisation needs a few steps to blow up, a broken operation none
    zeros: int = 3  # readings of exactly 0.0 in a row beside NaN gradients: one could be an empty batch


@rule("NUM101", severity=Severity.ERROR, needs=[], limits=Limits())
def nonfinite_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    training = training_loss(run)
    parts = [] if training else run.matching("part/")
    validation = validation_losses(run)
    if not training and not parts and not validation:
        raise NotEnough("loss or val/loss")
    spoken = False
    for series in filter(None, (_unhidden(run, training, limits), *parts, *validation)):
        bad = _bad_readings(run, series)
        if not bad.any() or (spoken and series.vital != "loss"):
            continue
        first = int(np.flatnonzero(bad)[0])
        after = bad[first:]
        stays = bool(after[-1]) or float(after.mean()) > limits.share
        finding = _finding(run, series, first, after, stays, limits)
        if series is not training and training and series.vital.startswith("val/"):
            finding = finding.with_(severity=min(finding.severity, _severity_beside(training, finding.first_step)))
        spoken = spoken or stays
        yield finding


def _severity_beside(training: Series, step: int) -> Severity:
    """Only the evaluation is broken if the training loss is known to be finite after it."""
    return Severity.WARNING if len(training.since(step + 1).finite()) else Severity.ERROR


def _bad_readings(run: Run, series: Series) -> NDArray[np.bool_]:
    bad = ~np.isfinite(series.values)
    skipped = run.series("skipped")
    if bad.any() and skipped:
        bad &= ~np.isin(series.steps, skipped.steps[skipped.values > 0])  # the scaler saw it and made no update
    return bad


def _unhidden(run: Run, series: Series, limits: Limits) -> Series:
    """`series` with NaN put back where the trainer wrote 0.0 for it: exact zeros to the end, beside NaN gradients."""
    gradients = run.series("grad_norm")
    tail = len(series.values) - int(np.argmax(series.values[::-1] != 0)) if (series.values != 0).any() else 0
    if len(series) - tail < limits.zeros or not gradients:
        return series
    beside = gradients.since(int(series.steps[tail]))
    if not len(beside) or np.isfinite(beside.values).any():
        return series
    values = series.values.copy()
    values[tail:] = np.nan
    return Series(series.vital, series.owner, series.steps, values)


def _finding(run: Run, series: Series, first: int, after: NDArray[np.bool_], stays: bool, limits: Limits) -> Finding:
    step, what = int(series.steps[first]), number(float(series.values[first]))
    name = "loss" if series.vital == "loss" else series.key.removeprefix("part/")
    finite = series.values[:first][np.isfinite(series.values[:first])]
    before = f"the last finite value was {number(finite[-1])}" if len(finite) else "it was never finite"
    count = int(after.sum())
    extent = f"in all {plural(count, 'reading')} to the end" if after.all() else f"in {count} of {len(after)} readings"
    if not stays:
        message = f"The {name} was {what} at {moment(run, step)} ({plural(count, 'reading')}) and came back."
    else:
        message = f"The {name} is {what} since {moment(run, step)}, {extent}; {before}."
    early = first < limits.early
    advice = [
        "Find the operation with torch.autograd.set_detect_anomaly(True): log(0), 0/0, a fully masked softmax, NaN in "
        "the data.",
        lower_learning_rate(run, step),
    ]
    return nonfinite_loss.finding(
        message,
        severity=None if stays else Severity.NOTE,
        first_step=step,
        last_step=int(series.steps[first:][after][-1]),
        confidence=0.99 if stays else 0.9,
        evidence={
            "nonfinite_readings": count,
            "readings_since": len(after),
            "last_finite": float(finite[-1]) if len(finite) else None,
        },
        series=[series.key, "grad_norm"],
        could_also_be=[
            "NaN in one batch of the data: run the batch of that step through the model alone.",
            "float16 overflow: repeat the step in float32.",
        ],
        try_=advice if early else [*reversed(advice), clip_gradient(run)],
    )
