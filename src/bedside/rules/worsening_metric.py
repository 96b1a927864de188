"""A metric gets worse from the start on, and is at its worst at the end.

## What it sees
A reward, a success rate, an accuracy or a score that was never better than where it began, and ends far below it; or a
word error rate that ends far above.

## Why it matters
The training does the opposite of what is wanted, and does it well: the loss may look perfect. Typical: the sign of a
reward or of an advantage, a loss that is maximised, labels of a metric that were turned round.

## How it decides
For every logged metric of which it is known which way is better (losses apart): the last quarter is below the first
readings by `lost` of them (a reward, which has no natural zero, by `reward_lost`; an error rate is above them by
`grown`) and by `noise` of the metric's own noise, it has won back less than `recovered` of what it had lost, and no
stretch in between was above the first readings by more than `near` of the fall.

## When it is wrong
Tasks that get harder on the way (a curriculum, self-play); an accuracy that a lopsided data set gave away for nothing.

## What to try
1. Check the sign: a policy gradient descends on `-(log_prob * advantage).mean()`.
2. Compute the metric by hand for one batch or one episode, before and after some steps.

## Example
>>> from bedside.testing import a_run
>>> reward = [0.25, 0.24, 0.2, 0.12, 0.05, 0.02] + [0.0] * 14
>>> print(*worsening_metric.check(a_run(loss=[0.01] * 200, **{"train/mean_reward": reward})))
GEN113 worsening-metric: train/mean_reward fell from 0.25 to 0, and was never better than at the start.

## References
- Irpan (2018), Deep reinforcement learning doesn't work yet: rewards that fall for reasons nobody looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import is_reward
from bedside.analysis.statistics import outline
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import goes_up, is_loss
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import FIT_ERROR
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    fewest: int = 12  # readings: enough to tell a fall from noise
    lost: float = 0.3  # of the first level: healthy metrics that fall at all fall by less
    grown: float = 1.0  # of the first level of an error rate: twice as many errors
    reward_lost: float = 0.15  # of the first level: a reward has no natural zero, and any that is at its worst is wrong
    noise: float = 4.0  # σ of one reading
    recovered: float = 1 / 3  # of what it had lost: a metric that is on its way back has more, sooner or later
    near: float = 0.15  # of the fall, above the first readings
    first: float = 0.1  # of the readings make the first level


@rule("GEN113", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def worsening_metric(run: Run, limits: Limits) -> Iterator[Finding]:
    named = [vital for vital in run.vitals if vital != FIT_ERROR.name and goes_up(vital) is not None]
    known = [run.series(vital).finite() for vital in named if not is_loss(vital)]
    long = [series for series in known if len(series) >= limits.fewest]
    if not any(goes_up(series.vital) for series in long):  # an error alone may grow with what is asked
        long = [series for series in long if series.vital.startswith("val/")]
    if not long:
        raise NotEnough(f"{limits.fewest} readings of a metric with a better direction (a reward, an accuracy)")
    fallen = [(series, levels) for series in long if (levels := _fell(series, limits))]
    if not fallen or len(fallen) < len(long):  # a metric that did not fall settles it
        return
    series, (first, last) = fallen[0]
    way = "fell" if goes_up(series.vital) else "rose"
    yield worsening_metric.finding(
        f"{series.key} {way} from {number(first)} to {number(last)}, and was never better than at the start.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.8,
        evidence={"first": first, "last": last, "metrics": [each.key for each, _ in fallen]},
        series=[series.key, "loss"],
        could_also_be=["a task that gets harder on the way: a curriculum, opponents that learn as well."],
        try_=[
            "Check the sign of the loss: a policy gradient descends on -(log_prob * advantage).mean()."
            if is_reward(series.vital)
            else "",
            f"Compute {series.key} by hand for one batch or episode, before and after some steps.",
        ],
    )


def _fell(series: Series, limits: Limits) -> tuple[float, float] | None:
    """Its first and last level, if it got worse for good and was never better."""
    sign = 1.0 if goes_up(series.vital) else -1.0
    values = sign * series.values
    few = max(2, int(limits.first * len(values)))
    first, last = float(values[:few].max()), float(np.median(values[-max(3, len(values) // 4) :]))
    curve = outline(Series(series.vital, series.owner, series.steps, -values))
    drop, lowest, highest = first - last, float(-curve.values.max()), float(-curve.best)
    lost = limits.reward_lost if is_reward(series.vital) else limits.lost if sign > 0 else limits.grown
    if drop < lost * abs(first) or drop <= limits.noise * curve.noise:
        return None
    if last > lowest + limits.recovered * (first - lowest) or highest > first + limits.near * drop:
        return None
    return sign * first, sign * last
