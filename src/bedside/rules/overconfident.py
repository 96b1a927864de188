"""The validation loss rises while the accuracy stays: the network grows surer of its mistakes.

## What it sees
A validation loss well above its best, next to metrics that did not get worse with it.

## Why it matters
The decisions are as good as before, but their probabilities can no longer be trusted; anything that uses them (ranking,
thresholds, ensembles) gets worse, and accuracy often follows later.

## How it decides
The validation loss is `rise` of its best level above it, beyond `noise` of its own noise, in all of the last three
evaluations, while the training loss went on falling; and the typical metric beside it stayed where it was, or
improved only at first. Metrics that got worse are overfitting; where they still improve, loss and metric disagree,
which is a note. Or, where the number of classes is known, whatever the past: over the last three evaluations the loss
is at least `times` the lowest that a classifier of this accuracy could have (Fano's inequality), and higher than that
of a blind guess, so the answers are wrong with confidence; the training loss is a small part of it (`sure`), and began
at no more than `began` times that guess, so it is a mean and not a sum.

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
GEN105 overconfident: val/loss rose by 100 % since its best (0.55 at step 15), while val/accuracy stayed at 0.82.

## References
- Guo et al. (2017), On calibration of modern neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.accuracy_and_loss import accuracies, calibrated
from bedside.analysis.chance_levels import known_chance
from bedside.analysis.lasting_rise import lasting_rise
from bedside.analysis.losses import training_loss, validation_losses, validation_metrics
from bedside.analysis.metric_change import BETTER, SAME, level_at, typical_change
from bedside.analysis.optimizers import weight_decay
from bedside.analysis.statistics import how_sure, lowest_reading, outline
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import REGULARISATION, moment
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 5  # evaluations
    rise: float = 0.5  # of the best level: fine-tuned classifiers commonly drift by a third with no harm
    noise: float = 3.0  # σ of one evaluation
    times: float = 2.5  # the highest calibrated loss: fine-tuned classifiers of two classes come to 1.5 to 2
    sure: float = 0.2  # of the validation loss: the network is that sure because it may be, on its training data
    began: float = 3.0  # times a blind guess: loud initialisations reach that, sums are beyond it
    mistakes: float = 0.01  # of all answers, at least: with fewer, a handful of examples makes the loss


FEW_SAMPLES = "a few samples with very large losses: look at the ten worst of the validation set."


@rule("GEN105", severity=Severity.WARNING, needs=[], limits=Limits())
def overconfident(run: Run, limits: Limits) -> Iterator[Finding]:
    training, metrics = training_loss(run).finite(), validation_metrics(run)
    losses = [series.finite() for series in validation_losses(run) if len(series.finite()) >= limits.fewest]
    if not training or not losses or not metrics:
        raise NotEnough(f"loss, {limits.fewest} evaluations of val/loss, and a metric beside it")
    for series in losses:
        if finding := _surer_than_right(run, series, training, limits):
            yield finding
            return
        curve = outline(series)
        rise = curve.now - curve.best
        lasts = lasting_rise(series, curve) >= limits.noise * curve.noise
        if curve.best <= 0 or rise < limits.rise * curve.best or not lasts:
            continue
        step, best = lowest_reading(series, curve)
        beside = [each.finite() for each in metrics if each.owner == series.owner and len(each) >= limits.fewest]
        if float(series.values[-3:].min()) < curve.best + rise / 2 or not _went_on(training, step):
            continue
        change = typical_change(run, {series.owner: step})
        if not beside or change is None or change < SAME:
            continue
        metric = beside[0]
        did = "still improves, to" if change >= BETTER else "stayed at" if change <= SAME else "came no further than"
        rise = curve.now / best - 1
        yield overconfident.finding(
            f"{series.key} rose by {percent(rise)} since its best ({number(best)} at {moment(run, step)}), while "
            f"{metric.key} {did} {number(outline(metric).now)}.",
            severity=Severity.NOTE if change >= BETTER else None,
            first_step=step,
            last_step=series.last_step,
            confidence=how_sure(rise, limits.rise / 1.5),
            evidence={"best": best, "now": curve.now, "metric": outline(metric).now},
            series=[series.key, metric.key, training.key],
            could_also_be=[FEW_SAMPLES],
            try_=[f"Keep the checkpoint of {moment(run, step)} if probabilities matter.", *_less_sure(run)],
        )
        return


def _less_sure(run: Run) -> tuple[str, ...]:
    decay = weight_decay(run)
    twice = "" if decay == 0 else ", or twice the weight decay" + (f" ({number(2 * decay)})" if decay > 0 else "")
    return (
        Advice(f"Label smoothing of 0.1{twice}.", REGULARISATION, 1),
        "Fit a temperature on the validation set after training.",
    )


def _surer_than_right(run: Run, series: Series, training: Series, limits: Limits) -> Finding | None:
    """The loss is far above what so many mistakes can cost a network that knows how sure it may be."""
    chance = known_chance(run.config)
    beside = [each for each in accuracies(run) if each.owner == series.owner and len(each) >= limits.fewest]
    if chance is None or not chance.classes or not beside:
        return None
    right = min(outline(beside[0]).now, 1 - limits.mistakes)
    most, curve = calibrated(right, chance.classes), outline(series)
    trained = outline(training)
    if float(series.values[-3:].min()) < max(limits.times * most, chance.level):
        return None
    if trained.now > limits.sure * curve.now or trained.start > limits.began * chance.level:
        return None
    return overconfident.finding(
        f"{series.key} is {number(curve.now)}; being right {percent(right)} of the time costs {number(most)} at most, "
        "if one is no surer than that.",
        first_step=int(curve.steps[min(curve.stays_above(limits.times * most), len(curve.steps) - 1)]),
        last_step=series.last_step,
        confidence=how_sure(curve.now / most, limits.times / 1.5),
        evidence={"now": curve.now, "calibrated": most, "metric": right, "training": trained.now},
        series=[series.key, beside[0].key, training.key],
        could_also_be=[
            "held-out data prepared in another way: evaluate training data with the same code.",
            FEW_SAMPLES,
        ],
        try_=[
            "Evaluate some training data with the evaluation code: the loss must be that of training.",
            *_less_sure(run),
        ],
    )


def _went_on(training: Series, step: int) -> bool:
    curve = outline(training)
    return curve.now <= level_at(curve, step)
