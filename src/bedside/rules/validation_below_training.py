"""The validation loss is below the training loss, all along.

## What it sees
Evaluations that are clearly better than training at the same time, at nearly every evaluation.

## Why it matters
Mostly harmless: dropout and augmentation make training harder, and a training loss that is averaged over an epoch lags
behind. But it is also how it looks when validation data are in the training data, or are easier, or when training runs
in a mode it should not. Worth a note, because the two curves cannot be compared for overfitting then.

## How it decides
At `often` of the evaluations the validation loss is below the training loss by `below` of it, both positive.

## When it is wrong
It is a note, and right about the numbers.

## What to try
1. Evaluate the training data with the evaluation code; that is the number to compare with.
2. Look for samples that are in both sets.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[2.0 - 0.01 * k for k in range(100)], val_loss=[1.4, 1.2, 1.1, 0.9, 0.8])
>>> print(*validation_below_training.check(run))
GEN107 validation-below-training: val/loss is below the training loss at 5 of 5 evaluations, by 23 % in the middle.

## References
- Srivastava et al. (2014), Dropout: a simple way to prevent neural networks from overfitting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss, validation_losses
from bedside.analysis.statistics import how_sure, outline
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 5  # evaluations
    often: float = 0.7  # of the evaluations (runmedic: 70 %)
    below: float = 0.1  # of the training loss: beyond noise and lag


@rule("GEN107", severity=Severity.NOTE, needs=[], limits=Limits())
def validation_below_training(run: Run, limits: Limits) -> Iterator[Finding]:
    training = training_loss(run).finite()
    losses = [each.finite() for each in validation_losses(run) if len(each.finite()) >= limits.fewest]
    if not training or not losses:
        raise NotEnough(f"loss and {limits.fewest} evaluations")
    validation, curve = losses[0], outline(training)
    if training.values.min() <= 0 or validation.values.min() <= 0:
        return
    gaps = 1 - validation.values / np.interp(validation.steps, curve.steps, curve.values)
    count = int((gaps > limits.below).sum())
    if count < limits.often * len(gaps):
        return
    typical = float(np.median(gaps))
    yield validation_below_training.finding(
        f"{validation.key} is below the training loss at {count} of {len(gaps)} evaluations, by {percent(typical)} in "
        "the middle.",
        first_step=validation.first_step,
        last_step=validation.last_step,
        confidence=how_sure(typical, limits.below / 2),
        evidence={"evaluations_below": count, "evaluations": len(gaps), "gap": typical},
        series=[training.key, validation.key],
        could_also_be=[
            "dropout, augmentation or label smoothing, in training only: evaluate the training data.",
            "validation samples that are in the training set: look for duplicates.",
        ],
        try_=["Evaluate part of the training data with the evaluation code, and compare with that."],
    )
