"""A score that was good and is not any more: a reward, an accuracy, a word error rate whose best lies far behind.

Scores are judged where no loss can be: policy optimisation, players with a loss each, logs of evaluations only.

>>> steps = np.arange(40)
>>> lost = lost_score(Series("train/reward", "", steps, np.r_[np.linspace(0, 200, 20), np.full(20, 30.0)]))
>>> round(lost.best), round(lost.now), lost.away  # a single best reading counts for little
(179, 30, 20)
>>> lost_score(Series("train/reward", "", steps, np.linspace(0, 200, 40))) is None
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics import outline, trend
from bedside.record.metric_direction import goes_up
from bedside.record.series import Series

MIN_READINGS = 8  # two to rise, a best, and the rest to have lost it
AWAY, AWAY_SHARE = 3, 0.1  # readings, and of them, that were nowhere near the best: fewer are a bad evaluation
GIVEN_BACK = 0.5  # of the progress: half of what was won, as for a loss without a natural zero
NEAR = 0.33  # of what was given back: a score that close to its best was back
NOISE = 4.0  # σ of one reading: the range of thirty readings of pure noise
UNSETTLED = 3.0  # σ of a median of five, which the progress itself must exceed: there was something to lose
OF_MEDIAN = 1.25 / np.sqrt(5)  # σ of one reading: that of a median of five normal ones, √(π/2 · 1/5)
REACHED = 0.05  # of the level: a score that never gained this much had nothing to lose, nor is a smaller loss one
DOUBLED = 2.0  # times its best, for errors: an untrained network makes so many that half of them is never lost again


@dataclass(frozen=True)
class LostScore:
    """`best` and `now` are levels as the user knows them; `away` is the step since which it was not near its best."""

    series: Series
    best: float
    best_step: int
    now: float
    away: int
    share: float  # of what had been won, given back

    def __str__(self) -> str:
        return self.series.key


def lost_score(series: Series, given_back: float = GIVEN_BACK) -> LostScore | None:
    """How a score lost `given_back` of what it had won; None if it did not, or is on its way back."""
    finite, up = series.finite(), goes_up(series.vital)
    if up is None or len(finite) < MIN_READINGS:
        return None
    sign = -1.0 if up else 1.0
    turned = Series(series.vital, series.owner, finite.steps, sign * finite.values)
    curve = outline(turned)
    gap, won = curve.now - curve.best, curve.progress
    if won <= max(UNSETTLED * OF_MEDIAN * curve.noise, REACHED * max(abs(curve.best), abs(curve.start))):
        return None
    multiple = not up and curve.best > 0 and curve.now >= DOUBLED * curve.best and gap >= REACHED * won
    if (gap < given_back * won and not multiple) or gap <= NOISE * curve.noise:
        return None
    near = curve.best + NEAR * gap
    place = curve.stays_above(near)
    if place >= len(curve.steps):
        return None
    away = int(curve.steps[place])
    since = turned.since(away)
    if len(since) < max(AWAY, AWAY_SHARE * len(turned)) or float(np.median(since.values)) <= near:
        return None
    slope = trend(since.tail(max(AWAY, len(since) // 2)))
    if slope.falling and curve.now + slope.slope * float(finite.last_step - away) / 2 <= near:
        return None
    best_step = int(curve.steps[curve.best_place])
    return LostScore(series, sign * curve.best, best_step, sign * curve.now, away, gap / won)
