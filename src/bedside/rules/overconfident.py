"""The validation loss rises while the accuracy stays: the network grows surer of its mistakes.

## What it sees
A validation loss well above its best, next to a metric that has hardly changed since.

## Why it matters
The decisions are as good as before, but their probabilities can no longer be trusted; anything that uses them (ranking,
thresholds, ensembles) gets worse, and accuracy often follows later.

## How it decides
The validation loss is `rise` of its best level above it, beyond `noise` of its own noise, in all of the last three
evaluations, while the training loss went on falling; and no metric beside it moved by more than `flat` of its value
since, up or down. A metric that got worse is overfitting; one that improved is worth the loss.

## When it is wrong
Where only the decisions matter.

## What to try
1. Keep the checkpoint of the best loss if probabilities matter, of the best metric if decisions do.
2. Label smoothing of 0.1, or more weight decay.
3. Fit a temperature on validation data afterwards.

## Example
>>> from bedside.testing import a_run
>>> train = [2.3 * 0.9 ** i for i in range(40)]
>>> val = [1.2, 0.8, 0.6, 0.55, 0.6, 0.7, 0.85, 1.0, 1.1, 1.2]
>>> acc = [0.70, 0.78, 0.81, 0.82, 0.82, 0.825, 0.82, 0.818, 0.82, 0.82]
>>> print(*overconfident.check(a_run(loss=train, val_loss=val, val_accuracy=acc)))
GEN105 overconfident: val/loss rose by 83 % since its best (0.6 at step 19), while val/accuracy stayed at 0.82.

## References
- Guo et al. (2017), On calibration of modern neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.finding import Finding, NotEnough, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.report.wording import number, percent
from bedside.rules.advice import moment
from bedside.rules.losses import training_loss, validation_losses, validation_metrics
from bedside.rules.rule import rule
from bedside.rules.statistics import how_sure, outline


@dataclass(frozen=True)
class Limits:
    fewest: int = 5  # evaluations
    rise: float = 0.5  # of the best level: fine-tuned classifiers commonly drift by a third with no harm
    noise: float = 3.0  # σ of one evaluation
    flat: float = 0.02  # of a metric's value


@rule("GEN105", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def overconfident(run: Run, limits: Limits) -> Iterator[Finding]:
    training, metrics = training_loss(run).finite(), validation_metrics(run)
    losses = [series.finite() for series in validation_losses(run) if len(series.finite()) >= limits.fewest]
    if not training or not losses or not metrics:
        raise NotEnough(f"loss, {limits.fewest} evaluations of val/loss, and a metric beside it")
    for series in losses:
        curve = outline(series)
        rise, step = curve.now - curve.best, int(curve.steps[curve.best_place])
        if curve.best <= 0 or rise < max(limits.rise * curve.best, limits.noise * curve.noise):
            continue
        beside = [each.finite() for each in metrics if each.owner == series.owner and len(each) >= limits.fewest]
        if float(series.values[-3:].min()) < curve.best + rise / 2 or not _went_on(training, step):
            continue
        if not beside or not all(_stayed(metric, step, limits) for metric in beside):
            continue
        metric = beside[0]
        yield overconfident.finding(
            f"{series.key} rose by {percent(rise / curve.best)} since its best ({number(curve.best)} at "
            f"{moment(run, step)}), while {metric.key} stayed at {number(outline(metric).now)}.",
            first_step=step,
            last_step=series.last_step,
            confidence=how_sure(rise / curve.best, limits.rise / 1.5),
            evidence={"best": curve.best, "now": curve.now, "metric": outline(metric).now},
            series=[series.key, metric.key, training.key],
            could_also_be=["a few samples with very large losses: look at the ten worst of the validation set."],
            try_=[
                f"Keep the checkpoint of {moment(run, step)} if probabilities matter.",
                "Label smoothing of 0.1, or twice the weight decay.",
                "Fit a temperature on the validation set after training.",
            ],
        )
        return


def _stayed(metric: Series, step: int, limits: Limits) -> bool:
    curve = outline(metric)
    then = float(np.interp(step, curve.steps, curve.values))
    return abs(curve.now - then) <= max(limits.flat * abs(then), limits.noise * curve.noise)


def _went_on(training: Series, step: int) -> bool:
    curve = outline(training)
    return curve.now <= float(np.interp(step, curve.steps, curve.values))
