"""The loss is nearly zero almost at once: the answer leaks into the input.

## What it sees
Training and validation loss both a minute fraction of where they began, within the first part of the run.

## Why it matters
Real tasks are not solved in the first steps, and not on held-out data at once. The target is among the inputs (a label
column, a future value, a causal mask that is missing), the validation data are in the training data, or the loss is
computed on the wrong tensor.

## How it decides
Before `soon` of the run both losses are below `tiny` of their first level, and stay there. Only for runs that began
well above zero, and whose validation loss never rose by `rose` first: an answer that leaks holds at once, one that is
understood late (grokking) is learned by heart before.

## When it is wrong
Toy problems and overfit-one-batch tests, which are meant to be solved.

## What to try
1. Replace the inputs by noise: if the loss still falls, the answer comes from somewhere else.
2. Look for rows that are in both sets; check the causal mask with two sequences that differ only in the future.

## Example
>>> from bedside.testing import a_run
>>> print(*suspiciously_perfect.check(a_run(loss=[2.3, 0.2] + [1e-6] * 98, val_loss=[2.3] + [1e-6] * 19)))
LOS111 suspiciously-perfect: After 2 % of the run the loss is 4e-7 of its first value, and the validation loss 4e-7.

## References
- Kapoor and Narayanan (2023), Leakage and the reproducibility crisis in machine-learning-based science.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss_to_fall, validation_losses
from bedside.analysis.statistics import how_sure
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    tiny: float = 1e-3  # of the first level: a thousand times better than guessing
    soon: float = 0.1  # of the run
    rose: float = 0.1  # of the first level: beyond the noise of evaluating a set
    fewest: int = 20  # readings of the training loss
    evaluations: int = 3  # of the validation loss


@rule("LOS111", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def suspiciously_perfect(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.fewest)
    losses = [each.finite() for each in validation_losses(run)]
    judged = next((each for each in losses if len(each) >= limits.evaluations), None)
    if judged is None:
        raise NotEnough(f"{limits.evaluations} evaluations")
    start = float(series.values[0])  # the first evaluation may come when all is over
    began = max(start, float(judged.values[0]))
    solved = _solved(series, start, limits), _solved(judged, began, limits)
    if solved[0] is None or solved[1] is None:
        return
    if float(judged.values.max()) > (1 + limits.rose) * max(float(judged.values[0]), limits.tiny * began):
        return
    span = series.last_step - series.first_step + 1
    share = max(solved[0] - series.first_step, 0) / span
    late = max(share, (solved[1] - judged.first_step) / span)
    if late > limits.soon:
        return
    ratios = [float(np.median(series.values)) / start, float(np.median(judged.values)) / began]
    yield suspiciously_perfect.finding(
        f"After {percent(share)} of the run the loss is {number(ratios[0], 1)} of its first value, and the validation "
        f"loss {number(ratios[1], 1)}.",
        first_step=solved[0],
        last_step=series.last_step,
        confidence=0.6 * how_sure(limits.tiny, max(*ratios, 1e-12)),
        evidence={"training": ratios[0], "validation": ratios[1], "share_of_run": share},
        series=[series.key, judged.key],
        could_also_be=["a task that is that easy: train a linear model on it and compare."],
        try_=[
            "Replace the inputs by noise: if the loss still falls, the answer leaks in somewhere else.",
            "Look for samples that are in both the training and the validation set.",
        ],
    )


def _solved(series: Series, start: float, limits: Limits) -> int | None:
    """The step from which the loss stays tiny beside `start`; None if it does not, or may be negative."""
    values = series.values
    if float(values.min()) < 0 or start <= 0:
        return None
    above = np.flatnonzero(values > limits.tiny * start)
    first = int(above[-1]) + 1 if len(above) else 0
    return int(series.steps[first]) if first < len(values) else None
