"""The loss turned upwards and lost what it had won.

## What it sees
A loss that rose from its best level, gave back a large part of its progress, and did not come down again. Where there
was no progress to lose, a loss that only ever climbed.

## Why it matters
This is the one shape of a curve in which every further step makes the model worse.

## How it decides
On the outline of the curve (running medians): now it is at least `noise` times its noise, slow wandering included,
above its best level, still nearer to its peak than to its best, and it has given back at least `given_back` of its
progress. Where the first, untrained readings were huge, that share is small for any later rise; then `at_least` of the
progress (on the logarithm of a positive loss) is enough if the loss is worse than it ever was between the first
`warming_up` of its way and the onset, unless the learning rate was raised there (a warm restart). A rise of a positive
loss by less than `felt` of its best is not a divergence, however little was won before. A rise `as_large` as others
from which the loss came back (`again`) is one more of its swings. Without progress to lose, a positive loss must have
`doubled`, and any other must rise by `far` times its noise. Logs with evaluations only are judged by their validation
loss; where these are `few`, each must be worse than the one before, and the last `fold` times the first. Surrogate
losses of policy optimisation are not judged, nor a training loss during whose rise every validation loss went on
falling.

## When it is wrong
A loss whose definition changed on the way (a term switched on, harder data); the finding names the step to compare.

## What to try
1. Stop, go back to a checkpoint before the onset, and lower the learning rate tenfold.
2. Clip the gradient norm to 1; lengthen the warm-up if it began near the peak of the learning rate.

## Example
>>> from bedside.testing import a_run
>>> loss = [2.3, 1.9, 1.5, 1.2, 1.0, 0.9, 0.9, 1.1, 1.8, 2.9, 4.7, 8.0]
>>> print(*diverging_loss.check(a_run(loss=loss)))
LOS101 diverging-loss: The loss rises since step 7: from its best of 0.9 at step 5 to 4.7, after starting at 2.3.

## References
- Cohen et al. (2021), Gradient descent on neural networks typically occurs at the edge of stability.
- Wortsman et al. (2024), Small-scale proxies for large-scale transformer training instabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.held_out_since import held_out_went_on
from bedside.analysis.losses import (
    called,
    is_surrogate,
    loss_to_fall,
    meant_to_fall,
    rewards,
    validation_losses,
    validation_metrics,
)
from bedside.analysis.statistics import Outline, how_sure, lowest_reading, outline, sways
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import clip_gradient, go_back, learning_rate, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import number

MIN_DEGREES = 4  # rates on the way up: with fewer it leapt


@dataclass(frozen=True)
class Limits:
    noise: float = 5.0  # σ of the deviations from the slow shape: pure noise puts no median that far
    given_back: float = 0.5  # of the progress: half is beyond a warm restart or a bad epoch (runmedic: 50 %)
    at_least: float = 0.25  # of the progress, if nothing since the first steps was as bad: half of half
    warming_up: float = 0.05  # of the readings before the onset: untrained outputs say nothing about the task
    doubled: float = 2.0  # without progress to lose: twice its best, which only a positive loss can be
    far: float = 20.0  # σ of one reading, without progress and without a natural zero: four times `noise`
    felt: float = 0.05  # of the best: batches of different difficulty make as much, see stalled-loss
    fewest: int = 6  # readings: three to know a level, three to know another
    few: int = 4  # evaluations, each worse than the one before: by chance once in 24 times, and never by
    fold: float = 4.0  # times the first: an untrained network is not that much better than a trained one
    again: int = 2  # earlier rises as large that it came back from: once may have been a spike
    as_large: float = 0.75  # of this rise: swings of one kind differ by that
    exploded: float = 30.0  # times the first quarter: agents that learn have errors that grow tenfold, with the rewards
    raised: float = 1.5  # learning rate after over before: schedules that only decay never do this


@rule("LOS101", severity=Severity.ERROR, needs=[], limits=Limits())
def diverging_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    if (without_rewards := _values_explode(run, limits)) is not None:
        yield without_rewards
        return
    if (at_once := _from_the_first(run, limits)) is not None:
        yield at_once
        return
    series = loss_to_fall(run, limits.fewest)
    positive = float(series.values.min()) > 0
    curve = outline(series)
    # A divergence grows by factors, so its onset shows on the logarithm first.
    scale = outline(Series(series.vital, series.owner, series.steps, np.log(series.values))) if positive else curve
    onset = _onset(scale, limits)
    if onset is None or not _lost(run, curve, scale, onset, positive, limits):
        return
    first = _refine(series, scale, onset, positive)
    if held_out_went_on(run, first):
        return
    best_step, best = lowest_reading(series, curve)
    unit = max(curve.progress, limits.noise * curve.wander)
    given_back = (curve.now - curve.best) / unit if unit > 0 else math.inf
    yield diverging_loss.finding(
        f"The {called(series)} rises since {moment(run, first)}: from its best of "
        f"{number(best)} at {moment(run, best_step)} to {number(curve.now)}, after starting at "
        f"{number(curve.start)}.",
        first_step=first,
        last_step=series.last_step,
        confidence=how_sure((curve.now - curve.best) / (limits.noise * curve.wander or 1e-12), 0.5),
        evidence={
            "start": curve.start,
            "best": best,
            "best_step": best_step,
            "now": curve.now,
            "given_back": min(given_back, 1e9),
        },
        series=[series.key, "lr", "grad_norm"],
        could_also_be=[
            "a loss whose terms or data changed at that step: evaluate the checkpoint from before it on today's data.",
            "a bug that begins at that step (a schedule, a resume with lost optimizer state): compare the logged "
            "learning rate and the first steps after the resume.",
        ],
        try_=[
            lower_learning_rate(run, first),
            go_back(run, first),
            clip_gradient(run),
            "Double the warm-up." if _at_the_peak(run, first) else "",
        ],
    )


def _values_explode(run: Run, limits: Limits) -> Finding | None:
    """Reinforcement learning whose errors grow and grow while the agent gets no better."""
    series = run.loss.finite()
    scores = [
        each.finite() for each in [*rewards(run), *validation_metrics(run)] if len(each.finite()) >= limits.fewest
    ]
    if not is_surrogate(run) or len(series) < 4 * limits.fewest or not scores or float(series.values.min()) <= 0:
        return None
    levels = [float(np.median(part)) for part in np.array_split(series.values, 4)]
    if sorted(levels) != levels or levels[-1] < limits.exploded * levels[0]:
        return None
    for score in scores:
        third = len(score) // 3
        gained = float(np.median(score.values[-third:]) - np.median(score.values[:third]))
        if gained * (1 if goes_up(score.vital) else -1) > 0:
            return None
    score, first = scores[0], int(series.steps[len(series) // 4])
    return diverging_loss.finding(
        f"The loss grew from {number(levels[0])} in the first quarter of the run to {number(levels[-1])} in the last, "
        f"and {score.key} got no better: the values that are learned run away.",
        first_step=first,
        last_step=series.last_step,
        confidence=0.85,
        evidence={"first": levels[0], "now": levels[-1], "score": score.last},
        series=[series.key, score.key],
        could_also_be=["a reward whose scale grows on the way: plot the rewards of single steps."],
        try_=[
            "Let what comes after the end of an episode count nothing: target = r + (1 - done) * gamma * v.",
            "Compute targets with a copy of the network that is refreshed every few hundred steps, without gradients.",
            lower_learning_rate(run, first),
        ],
    )


def _from_the_first(run: Run, limits: Limits) -> Finding | None:
    """Evaluations, too few for a curve, each of which is worse than the one before."""
    losses = [each.finite() for each in validation_losses(run) if limits.few <= len(each.finite()) < limits.fewest]
    for series in losses if meant_to_fall(run) else []:
        values = series.values
        if float(values[0]) > 0 and (np.diff(values) > 0).all() and values[-1] >= limits.fold * values[0]:
            return diverging_loss.finding(
                f"The {called(series)} rises from the first evaluation on: from {number(float(values[0]))} to "
                f"{number(series.last)} in {len(series)} evaluations.",
                first_step=series.first_step,
                last_step=series.last_step,
                confidence=0.7,
                evidence={"start": float(values[0]), "best": float(values[0]), "now": series.last},
                series=[series.key, "lr"],
                could_also_be=["a training set that is learned by heart: compare the training loss."],
                try_=[lower_learning_rate(run, series.first_step)],
            )
    return None


def _onset(curve: Outline, limits: Limits) -> int | None:
    """Index at which the final rise began; None if the curve is near its best now, or on its way back there."""
    rise = curve.now - curve.best
    if rise <= limits.noise * curve.wander:
        return None
    onset = curve.stays_above(curve.best + max(2 * curve.wander, 0.1 * rise))
    if onset >= len(curve.values):
        return None
    peak = float(curve.values[onset:].max())
    return onset if rise >= 0.5 * (peak - curve.best) else None


def _lost(run: Run, curve: Outline, scale: Outline, onset: int, positive: bool, limits: Limits) -> bool:
    """Is what was given back more than an ordinary setback?"""
    rise = curve.now - curve.best
    if positive and rise < limits.felt * curve.best:
        return False
    if len(sways(curve.values[:onset], limits.as_large * rise)) >= limits.again:
        return False
    if curve.progress <= limits.noise * curve.wander:
        return curve.now >= limits.doubled * curve.best if positive else rise >= limits.far * curve.wander
    if rise >= limits.given_back * curve.progress:
        return True
    warm = curve.values[1 + int(limits.warming_up * onset) : onset]
    worst_yet = not len(warm) or curve.now > float(warm.max())
    return (
        scale.now - scale.best >= limits.at_least * scale.progress
        and worst_yet
        and not _learning_rate_raised(run, int(curve.steps[onset]), limits)
    )


def _refine(series: Series, curve: Outline, onset: int, positive: bool) -> int:
    """The first reading of the final rise: in the stretch that the outline names, the one after the last near the
    best."""
    earlier = int(curve.steps[max(0, onset - 1)])
    stretch = series.since(earlier).before(int(curve.steps[onset]) + 1)
    values = np.log(stretch.values) if positive else stretch.values
    near = np.flatnonzero(values <= curve.best + 2 * curve.wander)
    if len(near) and near[-1] + 1 < len(stretch):
        return int(stretch.steps[near[-1] + 1])
    return int(curve.steps[onset])


def _learning_rate_raised(run: Run, step: int, limits: Limits) -> bool:
    """A warm restart: just before the onset the learning rate was well below what it is just after."""
    window = max(2, run.steps // 50)
    before, after = learning_rate(run, step - window, step - 1), learning_rate(run, step, step + window)
    return after > limits.raised * before


def _at_the_peak(run: Run, step: int) -> bool:
    """Whether the learning rate had just been warmed up to its peak, by degrees."""
    rates = run.series("lr").finite().before(step + 1)
    if len(np.unique(rates.values)) < MIN_DEGREES:
        return False
    peak = float(run.series("lr").finite().values.max())
    return rates.last > 0.9 * peak > 0 and float(rates.values[0]) < 0.5 * peak
