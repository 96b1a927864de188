"""The network memorises its training data: training improves, validation gets worse.

## What it sees
A validation loss that passed its best and rises, while the training loss goes on falling.

## Why it matters
Everything after the best evaluation makes the model worse on data it has not seen. The checkpoint that the run ends
with is not the one to keep.

## How it decides
Each validation loss is compared with its own best: now (the last three evaluations) it is higher by `rise` of its best
level, or of its progress where its zero means nothing, and by `noise` times its own evaluation noise; all of the last
three are well above the best; where evaluations are restless, the last eight must be above it. Where evaluations are
too noisy for that, a rise by `much` of the very best will do, if the training loss is below it, at least `settled`
evaluations lie behind it and none of them came halfway back; so will a smaller one if those evaluations rise among
themselves, beyond chance. With fewer than `trusted` evaluations there is no noise to compare with, so the rise must be
without a step back, and twice as large unless there are `row` in a row. Meanwhile the training loss did not rise, and
it fell by `fell` or was near zero already. With several validation sets, at least half of them must agree. Where
metrics are logged beside the losses (accuracy, BLEU, WER), the typical one must have lost some of its best since the
loss turned; or not have moved while the loss is up by `much`; or have improved only at first while the loss has
`doubled`. A training loss that was `learned_out` and lies below `far_below` of the best validation loss has nothing
left to teach: there a rise by `rise_learned_out` is enough, unless the typical metric still improves; and so is one by
`rise_apart` where validation ends at `apart` times the training loss and the typical metric won nothing at all. Or the
training data are known by heart: the training loss leaves room for `by_heart` fewer wrong answers (each costs ln 2 or
more) than the held-out accuracy shows, and of those no more than `gained` were put right since; then a rise by
`rise_by_heart` is as good as one by `rise`. So it is where the rise took back `taken_back` of all that validation had
won, and the training loss is further below its best than all of that. Any other rise under a steady accuracy is
overconfidence, another finding. A rise of less than `worth` of the first level says nothing, whatever share of a loss
near zero it is. One that came all at once and has been falling ever since is that of another task or measure. Without a
validation loss the held-out scores are judged: most of them have lost `score_lost` of what they had won, for good,
while the training loss (or the same score on training data) went on. Or nearly all of the training
answers are right, a third of the held-out ones is wrong, and none of those was put right in the second half.

## When it is wrong
Grokking, where validation recovers after a long while; a validation set too small to trust.

## What to try
1. Keep the checkpoint of the best evaluation; stop there next time.
2. More data or augmentation; more weight decay or dropout; fewer epochs; a smaller model, in this order.

## Example
>>> from bedside.testing import a_run
>>> train = [2.3 * 0.9 ** i for i in range(40)]
>>> val = [2.3, 1.5, 1.2, 1.1, 1.05, 1.1, 1.2, 1.35, 1.5, 1.7]
>>> print(*overfitting.check(a_run(loss=train, val_loss=val)))
GEN101 overfitting: val/loss rose by 43 % since its best (1.05 at step 19), the training loss went from 0.311 to 0.042.

## References
- Prechelt (1998), Early stopping: but when?
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies, most_wrong
from bedside.analysis.known_by_heart import known_by_heart
from bedside.analysis.lasting_rise import lasting_rise
from bedside.analysis.losses import (
    held_out_scores,
    meant_to_fall,
    training_loss,
    validation_losses,
    validation_metrics,
)
from bedside.analysis.lost_scores import MIN_READINGS, LostScore, lost_score
from bedside.analysis.metric_change import BETTER, SAME, level_at, typical_change
from bedside.analysis.statistics import Outline, how_sure, lowest_reading, outline, trend
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import REGULARISATION, moment
from bedside.rules.base import rule
from bedside.wording import number, percent

_EVALUATED = "evaluation in training mode or with other preprocessing: evaluate the same checkpoint on training data."
_MORE = Advice("More data or augmentation, then weight decay or dropout, then a smaller model.", REGULARISATION, 1)


@dataclass(frozen=True)
class Limits:
    fewest: int = 3  # evaluations: a best and two that are worse
    trusted: int = 5  # evaluations: two before the best, three after it
    row: int = 4  # rises in a row, each of which noise undoes as often as not: all of them once in 120 times
    much: float = 0.5  # of the best level: half as high again, which no steady metric excuses
    doubled: float = 1.0  # of the best level: which no metric that improved long ago excuses
    rise: float = 0.1  # of the best level: fine-tuning often ends a few percent above its best (SageMaker: 0.1)
    rise_by_heart: float = 0.05  # of the best level: with nothing left to learn in training, it does not come back
    taken_back: float = 1 / 3  # of the progress: of two thirds kept, nobody says that they are lost
    noise: float = 3.0  # σ of one evaluation
    worth: float = 0.015  # of the level it began at: near zero a large share of the loss is next to nothing
    level: int = 5  # readings that a level is made of, at least
    fell: float = 0.02  # of the training loss, since the best evaluation: it is still learning something
    memorised: float = 0.05  # of its first level: a training loss this low has nothing left to learn
    climb: int = 6  # evaluations: in order by chance once in 720 times, and the trend itself must be beyond chance
    settled: int = 8  # evaluations: noise around one level puts eight on one side once in 256 times
    by_heart: float = 0.1  # of all answers: the gap between training and held-out accuracy (AUTOTRAINER: 0.1)
    gained: float = 0.15  # of the wrong answers: a drop of the learning rate, after which the loss may rise, wins more
    learned_out: float = 0.1  # of its first level: a training loss that came down tenfold
    far_below: float = 0.25  # of the best validation loss: regularisation and augmentation make it the higher one
    apart: float = 3.0  # times the training loss: two to three is what a good fit of few examples comes to
    rise_apart: float = 0.2  # of the best level, beside such a gap and a metric that won nothing since
    leapt: int = 5  # evaluations after a leap: four falls in a row are chance once in sixteen times
    falls: float = 0.75  # of the steps between them: noise has as many up as down
    score_lost: float = 1 / 3  # of what the score had won, as for `taken_back`
    rise_learned_out: float = 0.3  # of the best level: fine-tuned classifiers drift by less while they improve


@dataclass(frozen=True)
class _Rise:
    series: Series
    best: float  # the lowest reading around the best level, at `best_step`
    now: float
    best_step: int
    rise: float  # of the best level, or of the progress


@rule("GEN101", severity=Severity.WARNING, needs=[], limits=Limits())
def overfitting(run: Run, limits: Limits) -> Iterator[Finding]:
    training, validation = training_loss(run).finite(), validation_losses(run)
    if not validation and held_out_scores(run):
        yield from _by_scores(run, training, limits)
        return
    if not training or not validation:
        raise NotEnough("loss" if validation else "val/loss")
    judged = [series.finite() for series in validation if len(series.finite()) >= limits.fewest]
    if not judged:
        raise NotEnough(f"{limits.fewest} evaluations, has {max(len(series.finite()) for series in validation)}")
    rises = _rises(judged, training, limits.rise, limits)
    if not rises or not (_metrics_agree(run, training, rises, limits) or _by_heart(run, training, rises, limits)):
        rises = _rises(judged, training, limits.rise_by_heart, limits)
        if not rises or not (_by_heart(run, training, rises, limits) or _taken_back(run, training, rises, limits)):
            return
    worst = max(rises, key=lambda each: each.rise)
    before, now = level_at(outline(training), worst.best_step), outline(training).now
    sets = f" (and {len(rises) - 1} more sets)" if len(rises) > 1 else ""
    yield overfitting.finding(
        f"{worst.series.key}{sets} rose by {percent(worst.rise)} since its best ({number(worst.best)} at "
        f"{moment(run, worst.best_step)}), the training loss went from {number(before)} to {number(now)}.",
        first_step=worst.best_step,
        last_step=worst.series.last_step,
        confidence=how_sure(worst.rise, limits.rise / 2),
        where=[each.series.owner for each in rises if each.series.owner],
        evidence={
            "best": worst.best,
            "best_step": worst.best_step,
            "now": worst.now,
            "rise": worst.rise,
            "training_at_best": before,
            "training_now": now,
        },
        series=[worst.series.key, "loss", *(metric.key for metric in validation_metrics(run)[:2])],
        could_also_be=[
            "a validation set that differs from the training data: evaluate on held-out training data; if that is "
            "fine, it is the set and not the fit.",
            _EVALUATED,
        ],
        try_=[f"Keep the checkpoint of {moment(run, worst.best_step)}, and stop there next time.", _MORE],
    )


def _by_scores(run: Run, training: Series, limits: Limits) -> Iterator[Finding]:
    """Held-out scores that were lost for good while training went on; evaluations of nothing else are all there is."""
    scores = [each for each in held_out_scores(run) if len(each.finite()) >= MIN_READINGS]
    if not meant_to_fall(run):
        return
    lost = [found for each in scores if (found := lost_score(each, limits.score_lost)) is not None]
    lost = [each for each in lost if _fitted_on(run, training, each, limits)]
    if not lost or 2 * len(lost) <= len(scores):
        if (known := known_by_heart(run)) is not None:
            yield overfitting.finding(
                str(known),
                first_step=known.halfway,
                last_step=known.held_out.last_step,
                confidence=0.75,
                series=[known.held_out.key, known.training.key],
                could_also_be=[_EVALUATED],
                try_=[_MORE],
            )
        return
    worst = max(lost, key=lambda each: each.share)
    others = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    yield overfitting.finding(
        f"{worst}{others} was {number(worst.best)} at {moment(run, worst.best_step)} and is {number(worst.now)} now, "
        f"{percent(min(worst.share, 1.0))} of what it had won is gone, while training went on getting better.",
        first_step=worst.best_step,
        last_step=worst.series.last_step,
        confidence=0.9 * how_sure(worst.share, limits.score_lost / 1.5),
        evidence={"best": worst.best, "best_step": worst.best_step, "now": worst.now, "lost": worst.share},
        series=[worst.series.key, *([training.key] if training else [])],
        could_also_be=[_EVALUATED],
        try_=[f"Keep the checkpoint of {moment(run, worst.best_step)}, and stop there next time.", _MORE],
    )


def _fitted_on(run: Run, training: Series, lost: LostScore, limits: Limits) -> bool:
    """Whether training got better since the score was best: its loss, or the same score of training data."""
    if len(training) >= limits.trusted:
        return _training_went_on(training, lost.best_step, limits) or _is_known(training, lost.best_step, limits)
    same = run.series(f"train/{lost.series.vital.partition('/')[2]}").finite()
    if len(same) < limits.trusted:
        return False
    sign = -1.0 if goes_up(same.vital) else 1.0
    curve = outline(Series(same.vital, same.owner, same.steps, sign * same.values))
    return curve.now < level_at(curve, lost.best_step) - max(limits.fell * abs(curve.best), curve.noise)


def _rises(judged: list[Series], training: Series, least: float, limits: Limits) -> list[_Rise]:
    """The rises by `least` or more while training went on; none if most validation sets show none."""
    lowest = outline(training).now
    rises = [rise for series in judged if (rise := _rise(series, lowest, least, limits)) is not None]
    rises = [
        rise
        for rise in rises
        if _training_went_on(training, rise.best_step, limits) or _memorised(training, rise, limits)
    ]
    began = outline(training).start
    rises = [
        rise
        for rise in rises
        if not _leapt_and_falls(rise, limits)
        and rise.now - rise.best >= limits.worth * max(began, float(rise.series.values[0]))
    ]
    return rises if len(rises) * 2 >= len(judged) else []


def _rise(series: Series, training: float, least: float, limits: Limits) -> _Rise | None:
    """How far the loss is above its best, if that is for good; noisy ones only where training is below it."""
    curve = outline(series)
    if len(series) < limits.settled and (few := _rise_of_few(series, limits)) is not None:
        return few
    if len(series) < limits.trusted:
        return None
    rise = curve.now - curve.best
    unit = curve.best if float(series.values.min()) > 0 else curve.progress
    if unit <= 0 or rise < least * unit or lasting_rise(series, curve) < limits.noise * curve.noise:
        noisy = training < float(series.values.min())
        return (_rise_for_good(series, curve, limits) or _rising(series, curve, least, limits)) if noisy else None
    if float(series.values[-3:].min()) < curve.best + rise / 2:
        return None
    step, best = lowest_reading(series, curve)
    return _Rise(series, best, curve.now, step, (curve.now - best) / (best if unit == curve.best else unit))


def _rise_for_good(series: Series, curve: Outline, limits: Limits) -> _Rise | None:
    """Noisy evaluations: much was lost since the very best, and many came since, none of which came halfway back."""
    place = int(np.argmin(series.values))
    best, since = float(series.values[place]), series.values[place + 1 :]
    late, rise = since[len(since) // 4 :], curve.now - best  # it may have taken some evaluations to get there
    if best <= 0 or rise < limits.much * best or len(late) < limits.settled or float(late.min()) < best + rise / 2:
        return None
    return _Rise(series, best, curve.now, int(series.steps[place]), rise / best)


def _rising(series: Series, curve: Outline, least: float, limits: Limits) -> _Rise | None:
    """Noisy evaluations that all came after the very best one: if they rise among themselves, it was not mere luck."""
    place, rise = int(np.argmin(series.values)), curve.now - curve.best
    best, since = float(series.values[place]), series.since(int(series.steps[place]) + 1)
    if best <= 0 or rise < least * curve.best or len(since) < limits.climb or not trend(since).rising:
        return None
    return _Rise(series, best, curve.now, int(series.steps[place]), curve.now / best - 1)


def _rise_of_few(series: Series, limits: Limits) -> _Rise | None:
    """Three or four evaluations: since the best, each is worse than the one before, and the last by a good deal."""
    place = int(np.argmin(series.values))
    since = series.values[place:]
    best, rise = float(since[0]), float(since[-1] - since[0])
    needed = limits.rise * best * (1 if len(since) > limits.row else 2)
    if len(since) < limits.fewest or best <= 0 or rise < needed or (np.diff(since) <= 0).any():
        return None
    return _Rise(series, best, float(since[-1]), int(series.steps[place]), rise / best)


def _metrics_agree(run: Run, training: Series, rises: list[_Rise], limits: Limits) -> bool:
    """No metrics, or the typical one got worse; or it did too little to excuse a rise this large."""
    change = typical_change(run, {each.series.owner: each.best_step for each in rises})
    if change is None or change < SAME:
        return True
    worst, curve = max(rises, key=lambda each: each.rise), outline(training)
    learned_out = float(training.values.min()) >= 0 and curve.now < min(
        limits.learned_out * curve.start, limits.far_below * worst.best
    )
    if change < BETTER and learned_out and worst.rise >= limits.rise_learned_out:
        return True
    if change <= SAME and 0 < curve.now < worst.now / limits.apart and worst.rise >= limits.rise_apart:
        return True
    return worst.rise >= limits.much if change <= SAME else worst.rise >= limits.doubled and change < BETTER


def _by_heart(run: Run, training: Series, rises: list[_Rise], limits: Limits) -> bool:
    """Training answers are right far more often than held-out ones, which have not improved since the loss was best."""
    known = most_wrong(outline(training).now)
    turned = {each.series.owner: each.best_step for each in rises}
    for metric in accuracies(run):
        if metric.owner not in turned or len(metric) < limits.trusted:
            continue
        then, now = 1 - level_at(outline(metric), turned[metric.owner]), 1 - outline(metric).now
        if now - known >= limits.by_heart and then - now <= limits.gained * then:
            return True
    return False


def _taken_back(run: Run, training: Series, rises: list[_Rise], limits: Limits) -> bool:
    """A good part of what validation had won is lost, training is far below it, and the typical metric is no better."""
    worst = max(rises, key=lambda each: each.rise)
    curve = outline(worst.series)
    won = curve.start - curve.best
    change = typical_change(run, {each.series.owner: each.best_step for each in rises})
    lost = len(worst.series) >= limits.trusted and curve.now - curve.best >= limits.taken_back * won > 0
    return lost and curve.best - outline(training).now > won and (change is None or change < SAME)


def _leapt_and_falls(rise: _Rise, limits: Limits) -> bool:
    """Whether all of the rise came at once, and it has fallen since: another task or measure, and learning goes on."""
    values = rise.series.since(rise.best_step).values
    after = values[1:]
    if len(after) < limits.leapt or float(after[0]) < float(after.max()):
        return False
    falls = int((np.diff(after) < 0).sum())
    return falls >= limits.falls * (len(after) - 1) and float(after[0] - after[-1]) > limits.fell * abs(float(after[0]))


def _training_went_on(training: Series, step: int, limits: Limits) -> bool:
    """Since `step` the training loss fell further, and by more than a level is off because of its noise."""
    curve = outline(training)
    then = level_at(curve, step)
    off = curve.noise / math.sqrt(limits.level)
    return then - curve.now > max(limits.fell * abs(then), off)


def _memorised(training: Series, rise: _Rise, limits: Limits) -> bool:
    """Whether the training data are known already, and validation is a multiple of their loss."""
    return _is_known(training, rise.best_step, limits) and rise.now > limits.apart * outline(training).now


def _is_known(training: Series, step: int, limits: Limits) -> bool:
    """Whether the training loss is as good as zero, and did not rise since `step`."""
    curve = outline(training)
    stayed = curve.now <= level_at(curve, step) + curve.noise
    return stayed and float(training.values.min()) >= 0 and curve.now < limits.memorised * curve.start
