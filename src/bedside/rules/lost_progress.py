"""The run ends far from its own best: what it had learned is gone.

## What it sees
A loss that had come down, was thrown up (by a collapse, a resume, a change of settings), and at the end is still far
above what it had reached, even if it is falling again.

## Why it matters
The checkpoint at the end is not the one to keep, and every step since the best one was spent on coming back. A curve
that falls to its end looks healthy to whoever only looks at the end.

## How it decides
On the outline of the whole curve, restarts included: now it is `worse` times its best or more, beyond `noise` of its
own noise; it gave back `given_back` of its progress on the logarithm and `share` of it on the loss itself (a loss of
1e-4 may well be 1e-3 for a while). Or it gave back `third` of it on the loss itself and is `slightly` above its best.
After a collapse, in which `half` of the progress was gone, half of `given_back` is enough; so it is for a loss that has
been rising for a `third` of the run, still does, and is `far` beyond its noise by now. It has been away from its best
for `long` of the run and `readings` readings, or rose `row` times in a row up to the end; otherwise it is a spike. A
learning rate that was raised in between and is still high (a warm restart) explains it; so does a fall that would bring
it back in half the time it has been away. So do validation losses that went on falling all the while. A loss that rose
as far and came back `again` times goes through stages, or swings. One without a natural zero must have given back
`half` of its progress. Where no loss is meant to fall, or none was logged, the scores that should rise (rewards,
success rates, held-out metrics) are judged instead: most of them have given back half of what they had won, and have
not been near their best since; a training score that goes on rising makes it overfitting instead.

## When it is wrong
Harder data or another term in the loss since then: the finding names the step to look at.

## What to try
1. Go back to the checkpoint of the best step, and find out what changed right after it.
2. After a resume: compare the learning rate, the optimizer state and the order of the data before and after.

## Example
>>> from bedside.testing import a_run
>>> loss = [4.0 * 0.97**k for k in range(100)] + [3.0 * 0.99**k for k in range(60)]
>>> print(*lost_progress.check(a_run(loss=loss)))
LOS113 lost-progress: The loss was 0.196 at step 99 and has not been near it since step 100: it ends at 1.72, 8.8 \
times its best.

## References
- Chowdhery et al. (2022), PaLM: section 5.1, going back to a checkpoint before the instability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.held_out_since import held_out_went_on
from bedside.analysis.losses import called, judged_loss, loss_to_fall, meant_to_fall, rewards, validation_metrics
from bedside.analysis.lost_scores import MIN_READINGS, LostScore, lost_score
from bedside.analysis.statistics import Outline, how_sure, lowest_reading, outline, sways, trend
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import learning_rate, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 12  # readings: epochs are few, and each is the mean of many steps
    worse: float = 1.25  # times the best: a quarter as high again; a change of the batches makes less
    noise: float = 5.0  # σ of the deviations from the slow shape, as for diverging-loss
    given_back: float = 0.25  # of the progress on the logarithm: harder data of a curriculum cost less
    share: float = 0.1  # of the progress on the loss itself: a tenth shows on a plot
    third: float = 0.33  # of the progress: losses far from zero (of language, of smoothed labels) never double
    far: float = 10.0  # σ of the deviations from the slow shape: twice `noise`
    slightly: float = 1.1  # times the best: fine-tuning often ends a few percent above it
    half: float = 0.5  # of the progress of a loss that may be negative, as for diverging-loss
    long: float = 0.1  # of the run: loss-spike has what comes back sooner
    readings: int = 10  # away from the best
    row: int = 5  # rises in a row up to the end: noise does that once in 720 times
    again: int = 2  # rises as large that it came back from: stages of a curriculum, or swings
    near: float = 0.33  # of the rise: below it the curve was back
    raised: float = 1.5  # learning rate after over before: schedules that only decay never do this


@rule("LOS113", severity=Severity.WARNING, needs=[], limits=Limits())
def lost_progress(run: Run, limits: Limits) -> Iterator[Finding]:
    if scores := _scores_alone(run):
        if lost := _lost_scores(scores):
            yield _of_scores(run, lost)
        return
    series = loss_to_fall(run, limits.fewest)
    curve = outline(series)
    positive = float(series.values.min()) > 0
    rise, away = curve.now - curve.best, _away(series, curve, limits)
    if away is None or not _lost(series, curve, away, positive, limits):
        return
    if (
        held_out_went_on(run, away)
        or _comes_back(series, curve, away, limits)
        or _warm_restart(run, curve, away, limits)
    ):
        return
    if len(sways(curve.values, rise)) >= limits.again:
        return
    step, best = lowest_reading(series, curve)
    times = f", {number(curve.now / best, 2)} times its best" if positive else ""
    yield lost_progress.finding(
        f"The {called(series)} was {number(best)} at {moment(run, step)} and has not been near it since "
        f"{moment(run, away)}: it ends at {number(curve.now)}{times}.",
        first_step=away,
        last_step=series.last_step,
        confidence=how_sure(rise / max(curve.progress, 1e-12), limits.share / 1.5),
        evidence={"best": best, "best_step": step, "now": curve.now, "start": curve.start},
        series=[series.key, "lr", "grad_norm"],
        could_also_be=[
            "harder data or another term of the loss since then: evaluate the checkpoint of "
            f"{moment(run, step)} on today's data.",
        ],
        try_=[
            f"Go back to the checkpoint of {moment(run, step)}, and look at what changed at {moment(run, away)}.",
            "If the run was resumed there, restore the optimizer's and the scheduler's state with the weights.",
        ],
    )


def _scores_alone(run: Run) -> list[Series]:
    """The scores that tell how a run goes on which no loss tells it."""
    if meant_to_fall(run):
        try:
            judged_loss(run)
        except NotEnough:
            pass
        else:
            return []
    return [each for each in [*rewards(run), *validation_metrics(run)] if len(each.finite()) >= MIN_READINGS]


def _lost_scores(scores: list[Series]) -> list[LostScore]:
    """Those that were lost, the one that lost most first; none if most of them were kept."""
    lost = [found for each in scores if (found := lost_score(each)) is not None]
    return sorted(lost, key=lambda each: -each.share) if 2 * len(lost) > len(scores) else []


def _of_scores(run: Run, lost: list[LostScore]) -> Finding:
    worst = lost[0]
    others = f"; so did {len(lost) - 1} more" if len(lost) > 1 else ""
    return lost_progress.finding(
        f"{worst} was {number(worst.best)} at {moment(run, worst.best_step)} and has not been near it since "
        f"{moment(run, worst.away)}: it ends at {number(worst.now)}, {percent(min(worst.share, 1.0))} of what it had "
        f"won is gone{others}.",
        first_step=worst.away,
        last_step=worst.series.last_step,
        confidence=how_sure(worst.share, 0.4),
        evidence={"best": worst.best, "best_step": worst.best_step, "now": worst.now, "share": worst.share},
        series=[each.series.key for each in lost[:3]],
        could_also_be=["a task that got harder since then: a curriculum, opponents that learn as well, other data."],
        try_=[
            f"Go back to the checkpoint of {moment(run, worst.best_step)}, and look at what changed at "
            f"{moment(run, worst.away)}.",
            lower_learning_rate(run, worst.away),
        ],
    )


def _away(series: Series, curve: Outline, limits: Limits) -> int | None:
    """The step since which the curve has not been near its best; None if that is not long ago."""
    place = curve.stays_above(curve.best + limits.near * (curve.now - curve.best))
    if place >= len(curve.steps):
        return None
    step = int(curve.steps[place])
    since = len(series.since(step))
    climbs = bool((np.diff(series.values[-limits.row - 1 :]) > 0).all())
    return step if climbs or since >= max(limits.readings, limits.long * len(series)) else None


def _lost(series: Series, curve: Outline, away: int, positive: bool, limits: Limits) -> bool:
    """Whether what was given back is more than an ordinary setback."""
    rise = curve.now - curve.best
    if rise <= limits.noise * curve.noise or rise < limits.share * curve.progress:
        return False
    if curve.progress <= limits.noise * curve.wander:
        return False  # there was nothing to lose
    if not positive:
        return rise >= limits.half * curve.progress
    back, won = np.log(curve.now / curve.best), np.log(curve.start / curve.best)
    peak = float(curve.values[np.searchsorted(curve.steps, away) :].max())
    collapsed = peak >= curve.best + limits.half * curve.progress
    sure = collapsed or _rises(series, curve, away, limits)
    needed = limits.given_back / 2 if sure else limits.given_back
    if rise >= limits.third * curve.progress and curve.now >= limits.slightly * curve.best:
        return True
    return curve.now >= limits.worse * curve.best and bool(back >= needed * won)


def _rises(series: Series, curve: Outline, away: int, limits: Limits) -> bool:
    """Whether it has been on its way up for long, and is to the end."""
    since = series.since(away)
    last, third = trend(series.tail(len(series) // 3)), limits.third * len(series)
    rising = last.change > 0 and last.significant()
    return len(since) >= third and rising and curve.now - curve.best >= limits.far * curve.wander


def _comes_back(series: Series, curve: Outline, away: int, limits: Limits) -> bool:
    """It falls, and at its latest pace would be near its best after half as long again as it has been away."""
    since = series.since(away)
    slope = trend(since.tail(max(limits.readings, len(since) // 4)))
    ahead = slope.slope * float(series.last_step - away) / 2
    return slope.falling and curve.now + ahead <= curve.best + limits.near * (curve.now - curve.best)


def _warm_restart(run: Run, curve: Outline, away: int, limits: Limits) -> bool:
    """The learning rate is far above what it was at the best step, and has not come down again."""
    step = int(curve.steps[curve.best_place])
    before, now = learning_rate(run, step), learning_rate(run, int(curve.steps[-1]))
    after = learning_rate(run, away)
    return after > limits.raised * before and now > limits.raised * before
