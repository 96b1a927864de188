"""The training loss swings up and down instead of settling.

## What it sees
A training loss that loses half of what it had won, wins it back, and loses it again; or one that bounces from step to
step with a swing as large as its progress.

## Why it matters
The steps are longer than the valley is wide: the network jumps from wall to wall and cannot descend further. Most of
the computation goes into regaining what the last swing lost.

## How it decides
In swings: the outline of the curve (running medians, so that batch noise does not count) comes within `low` of its best
and rises to `high` of its progress at least `times` times, and that is `noise` times the noise of a reading. A curve
that wanders around the level it began at does not count: nearly all of it must be below its start. In bounces: over the
second half, successive changes are opposed (lag-one autocorrelation below `opposed`, where batch noise has −0.5) and as
large as `bounce` of the progress. In cycles: the second half or the last quarter swings to and fro at a period of its
own (its autocorrelation is negative half a period away and positive a whole one away, which that of noise is not; of a
short run the whole), by
`cycle` of the progress and `high_over` of its lower level (or by `tenth` of the progress and `far` over that level),
without falling by `gained` all the while. In company: after the first quarter the validation loss, which knows no batch
noise, went up by `sway` of what it had won (and by `loud` times its noise) and down again at least twice, without
winning more than that in all; so did the outline of the training loss, at least `times` times and beyond `clear` times
its noise. Of a `few` means of epochs, which know no batch noise:
they won `learned` of the first level, and went up by `cycle` of that (and by `high_over`) `times` times, or once in
`rest` readings, in turns or `together` with what is evaluated.
Not where the learning rate itself goes up and down (cyclical schedules), nor for surrogate losses.

## When it is wrong
Losses of adversarial training, which oscillate by design.

## What to try
1. Lower the learning rate by a factor of 3 to 10, or decay it towards the end.
2. Lower the momentum from 0.9 to 0.8, or raise the batch size.

## Example
>>> from bedside.testing import a_run
>>> swing = [0.6, 0.61, 0.58, 0.6, 0.62, 0.59, 0.6, 0.61, 2.4, 2.52, 2.48, 2.5, 2.51, 2.47, 2.5, 2.4]
>>> loss = [3.0, 2.5, 2.0, 1.5, 1.0] + swing * 5
>>> print(*oscillating_loss.check(a_run(loss=loss, lr=0.3)))
LOS106 oscillating-loss: The loss swung up to half its progress or more 5 times since step 13, from about 0.6.

## References
- Cohen et al. (2021), Gradient descent on neural networks typically occurs at the edge of stability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss_to_fall, validation_losses
from bedside.analysis.means_of_epochs import are_means
from bedside.analysis.statistics import Cycle, Outline, cycle, how_sure, noise_level, outline, sways, swings, trend
from bedside.analysis.statistics.cycles import MIN_READINGS
from bedside.analysis.statistics.outline import WINDOW
from bedside.analysis.weights_put_back import weights_put_back
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.rules.advice import LEARNING_RATE, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 30  # readings: several swings of several readings each
    few: int = 8  # means of epochs, which know no batch noise: three swings of two and the way down
    rest: int = 10  # such means to a swing, at most: of a long run a few bad epochs are not its way
    learned: float = 0.3  # of the first level, won: less is a flat curve, which crosses its middle by chance
    together: float = 0.6  # correlation of the steps: with what is evaluated, they are the network's and no batch's
    low: float = 0.2  # of the progress above the best: it had really come down
    high: float = 0.5  # of the progress above the best: as for a divergence, but it comes back
    noise: float = 5.0  # σ of one reading, from low to high: batch noise does not move a running median that far
    below: float = 0.95  # of the curve is below its start: otherwise there was no progress to swing back from
    times: int = 3  # once is a spike, twice a coincidence
    opposed: float = -0.8  # of successive changes: −1 for a perfect zigzag, −0.5 for white noise, 0 for a walk
    bounce: float = 0.25  # of the progress, from one reading to the next
    cycle: float = 0.25  # of the progress, from bottom to top, as for a bounce
    gained: float = 0.2  # of the level, over that stretch: tasks that take turns, all of them learning
    tenth: float = 0.1  # of the progress, for a loss that swings `far`: a tenth shows on a plot
    far: float = 1.5  # of the lower level: tasks of different difficulty that take turns differ by a factor of two
    high_over: float = 0.5  # of the lower level: batches of two kinds that take turns differ by less
    evaluations: int = 12  # of the validation loss: nine after its first quarter, enough for two sways
    won: float = 0.3  # of the first evaluation: a network that has hardly learned has nothing to lose
    sway: float = 0.15  # of what the validation loss had won: a schedule that decays leaves a few percent
    loud: float = 6.0  # σ of one evaluation: the range of three hundred of them
    clear: float = 3.0  # σ of a running median: three such sways are not luck
    cycles: int = 2  # rises of the learning rate after its warm-up: a schedule that explains the swings


@rule("LOS106", severity=Severity.WARNING, needs=[], limits=Limits())
def oscillating_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.few)
    if len(series) < limits.fewest:
        if not are_means(run, series):
            raise NotEnough(f"{limits.fewest} readings of {series.key}, has {len(series)}")
        yield from _of_epochs(run, series, limits)
        return
    curve = outline(series)
    if curve.progress <= 0 or _cyclical(run, limits):
        return
    level = curve.best + limits.high * curve.progress
    swing = (limits.high - limits.low) * curve.progress
    real = swing > limits.noise * curve.noise and float(np.mean(curve.values < curve.start)) >= limits.below
    found = swings(curve.values, low=level - swing, high=level) if real else []
    found = [each for each in found if not weights_put_back(run, int(curve.steps[each]))]
    late = series.values[len(series) // 2 :]
    opposed, bounce = _lag_one(np.diff(late)), float(np.mean(np.abs(np.diff(late))))
    if len(found) >= limits.times:
        first = int(curve.steps[found[0]])
        message = (
            f"The loss swung up to half its progress or more {len(found)} times since {moment(run, first)}, from about "
            f"{number(curve.best)}."
        )
        sure = how_sure(len(found), limits.times / 1.5)
    elif opposed < limits.opposed and bounce > limits.bounce * curve.progress:
        first = int(series.steps[len(series) // 2])
        share = percent(bounce / curve.progress)
        message = f"The loss bounces by {number(bounce)} from one reading to the next, {share} of all its progress."
        sure = how_sure(bounce / curve.progress, limits.bounce / 1.5)
    elif swinging := _cycles(series, curve, limits):
        first, found_cycle = swinging
        message = (
            f"The loss swings by {number(found_cycle.height)} about every {found_cycle.period} readings since "
            f"{moment(run, first)}, {percent(found_cycle.height / curve.progress)} of all its progress."
        )
        sure = how_sure(found_cycle.height / curve.progress, limits.cycle / 1.5)
    elif together := _in_company(run, curve, limits):
        first, count = together
        message = (
            f"The validation loss went up by a good part of what it had won and down again {count} times since "
            f"{moment(run, first)}, and won nothing more; the training loss sways with it."
        )
        sure = how_sure(count, 1.5)
    else:
        if are_means(run, series):
            yield from _of_epochs(run, series, limits)
        return
    yield oscillating_loss.finding(
        message,
        first_step=first,
        last_step=series.last_step,
        confidence=sure,
        evidence={
            "swings": len(found),
            "best": curve.best,
            "progress": curve.progress,
            "lag_one": opposed,
            "bounce": bounce,
        },
        series=[series.key, "lr", "grad_norm"],
        could_also_be=[
            "data that come in blocks of different difficulty: shuffle, and see whether the swings stay.",
            "adversarial or alternating training, where swings are part of it.",
        ],
        try_=[
            lower_learning_rate(run, first, by=5),
            Advice("Decay the learning rate towards the end (cosine to zero).", LEARNING_RATE, -1),
        ],
    )


def _of_epochs(run: Run, series: Series, limits: Limits) -> Iterator[Finding]:
    """Means of epochs go up by a good part of the progress again and again, in turns or with the evaluations."""
    values, start = series.values, float(series.values[0])
    best = float(np.sort(values)[len(values) // limits.few])  # not the very best, which may be luck
    progress = start - best
    if best <= 0 or progress < limits.learned * start or _cyclical(run, limits):
        return
    low = best + limits.low * progress
    high = max(low + limits.cycle * progress, (1 + limits.high_over) * best)
    found = swings(values, low=low, high=high)
    times = max(limits.times, len(values) // limits.rest)
    if len(found) < times or int((values[1:] > start).sum()) > limits.times - 1:
        return
    if _lag_one(np.diff(values[1:])) > limits.opposed and not _together(run, series, limits):
        return
    first = int(series.steps[found[0]])
    yield oscillating_loss.finding(
        f"The loss went up by a quarter of its progress or more {len(found)} times in {len(series)} readings since "
        f"{moment(run, first)}, from about {number(best)}.",
        first_step=first,
        last_step=series.last_step,
        confidence=0.8,
        evidence={"swings": len(found), "best": best, "progress": progress},
        series=[series.key, "lr", "grad_norm"],
        could_also_be=["a loss that is that of the last batch only: log the mean of the epoch."],
        try_=[
            lower_learning_rate(run, first, by=5),
            Advice("Decay the learning rate towards the end (cosine to zero).", LEARNING_RATE, -1),
        ],
    )


def _together(run: Run, series: Series, limits: Limits) -> bool:
    """Whether something that was evaluated at the same places goes up and down with the loss."""
    steps = np.diff(series.values[1:])
    for each in (every.finite() for every in run.matching("val/")):
        if len(each) != len(series) or not np.ptp(each.values[1:]):
            continue
        if abs(float(np.corrcoef(steps, np.diff(each.values[1:]))[0, 1])) >= limits.together:
            return True
    return False


def _cycles(series: Series, curve: Outline, limits: Limits) -> tuple[int, Cycle] | None:
    """Since when the loss swings at a period of its own, and how; None if it does not, or not by much."""
    # Half of a short run is too short for a cycle to be seen, so the whole of it is looked at.
    shares = (2, 4) if len(series) >= 2 * MIN_READINGS else (1,)
    for share in shares:
        late = series.values[-(len(series) // share) :]
        found = cycle(late)
        level = float(np.percentile(late, 10))
        needed = max(limits.cycle * curve.progress, limits.high_over * level if level > 0 else 0.0)
        if level > 0:
            needed = min(needed, max(limits.tenth * curve.progress, limits.far * level))
        gain = trend(series.tail(len(late)))
        learns = gain.falling and -gain.change > limits.gained * abs(float(np.median(late)))
        if found is not None and found.height >= needed and not learns:
            return _began(series, found), found
    return None


def _began(series: Series, found: Cycle) -> int:
    """The step from which on, two periods at a time, the loss swung by half of that or more."""
    width = max(4, 2 * found.period)
    start = len(series)
    while start >= width and float(np.ptp(series.values[start - width : start])) >= found.height / 2:
        start -= width
    return int(series.steps[min(start, len(series) - 1)])


def _in_company(run: Run, curve: Outline, limits: Limits) -> tuple[int, int] | None:
    """Since when the validation loss sways together with the training loss, and how often; None if they do not."""
    clear = limits.clear * 1.25 * curve.noise / float(np.sqrt(WINDOW))  # 1.25: a median is that much worse than a mean
    by = max(limits.sway / 1.5 * curve.progress, clear)
    if len(sways(curve.values[len(curve.values) // 4 :], by)) < limits.times:
        return None
    for series in (each.finite() for each in validation_losses(run)):
        late = series.tail(len(series) - len(series) // 4)
        won = float(series.values[0] - np.median(late.values)) if len(series) >= limits.evaluations else 0.0
        if won <= 0 or won < limits.won * abs(float(series.values[0])):
            continue
        by = max(limits.sway * won, limits.loud * noise_level(late.values))
        found, third = sways(late.values, by), len(late) // 3
        gained = float(np.median(late.values[:third]) - np.median(late.values[-third:]))
        if len(found) >= 2 and gained <= limits.sway * won:
            return int(late.steps[found[0]]), len(found)
    return None


def _lag_one(values: Values) -> float:
    """Lag-one autocorrelation; 0 for a constant."""
    rest = values - values.mean()
    power = float((rest**2).sum())
    return float((rest[1:] * rest[:-1]).sum()) / power if power > 0 else 0.0


def _cyclical(run: Run, limits: Limits) -> bool:
    """The learning rate rose by half or more, again and again."""
    rates = run.series("lr").finite().values
    if len(rates) < 3 or rates.max() <= 0:
        return False
    return len(swings(rates, low=0.5 * rates.max(), high=0.75 * rates.max())) > limits.cycles
