"""What the metrics beside a loss did since the loss turned: got better, got better once, stayed, got worse.

One of eighty scores per class, of a handful of examples each, goes up by luck. So a metric is judged against its own
noise, those too noisy to tell are left out while there are others, and the typical one speaks for all.

>>> steps = np.arange(20)
>>> early = Series("val/accuracy", "", steps, np.minimum(0.5 + 0.02 * steps, 0.56))
>>> change_since(early, 0), change_since(early, 10), change_since(Series("val/wer", "", steps, 0.2 + 0.01 * steps), 5)
(0.5, 0.0, -1.0)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bedside.analysis.losses import validation_metrics
from bedside.analysis.statistics import Outline, outline
from bedside.record.metric_direction import full_score, goes_up
from bedside.record.run import Run
from bedside.record.series import Series

BETTER, BETTER_ONCE, SAME, WORSE = 1.0, 0.5, 0.0, -1.0
NOISE = 3.0  # σ of one evaluation: less is luck
MOVED = 0.02  # of the value: accuracy 0.75 to 0.735 is more than a lucky evaluation
PUT_RIGHT = 0.15  # of the mistakes: 0.95 to 0.96 is as much as 0.5 to 0.6; worth a loss that rises, whenever it was
MUCH = 0.1  # of the value of a metric without a full score, the same
BLURRED = 0.1  # of the value: a metric that scatters by this much (a dozen examples of a class) cannot tell
MIN_EVALUATIONS = 3  # of a metric: one where the loss was best, and two since


def typical_change(run: Run, turned: Mapping[str, int]) -> float | None:
    """What the typical metric did since its own set's loss was best (`turned`: the step by set); None without any."""
    judged = [
        each.finite()
        for each in validation_metrics(run)
        if each.owner in turned and len(each.finite()) >= MIN_EVALUATIONS
    ]
    clear = [each for each in judged if NOISE * outline(each).noise <= BLURRED * abs(float(np.median(each.values)))]
    changes = [change_since(each, turned[each.owner]) for each in clear or judged]
    return float(np.median(changes)) if changes else None


def change_since(metric: Series, step: int) -> float:
    """One of BETTER, BETTER_ONCE (by little, and only in the first half of the time since), SAME and WORSE than its
    best."""
    up = goes_up(metric.vital)
    curve = outline(Series(metric.vital, metric.owner, metric.steps, -metric.values if up else metric.values))
    then = level_at(curve, step)
    full = full_score(metric.vital, float(metric.values.max())) if up else 0.0
    much = PUT_RIGHT * (full + then) if full else MUCH * abs(then)  # of the mistakes: `then` is negative there
    slack = max(NOISE * curve.noise, min(MOVED * abs(then), much))
    if curve.now < then - slack:
        midway = level_at(curve, (step + int(curve.steps[-1])) / 2)
        goes_on = curve.now < midway - slack / 2 or curve.now < then - max(slack, much)
        return BETTER if goes_on else BETTER_ONCE
    return WORSE if curve.now - curve.best > max(NOISE * curve.noise, MOVED * abs(curve.best)) else SAME


def level_at(curve: Outline, step: float) -> float:
    """The level of a curve at `step`, without its noise."""
    return float(np.interp(step, curve.steps, curve.values))
