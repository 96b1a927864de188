"""What held-out data say about a training loss that rose: if they get better and better, only the task got harder.

>>> run = Run("x", [Series("val/loss", "", range(20), [2 * 0.95**k for k in range(20)])])
>>> held_out_went_on(run, 8), held_out_went_on(run, 18)
(True, False)
"""

from __future__ import annotations

from bedside.analysis.losses import validation_losses
from bedside.analysis.metric_change import level_at
from bedside.analysis.statistics import outline
from bedside.record.run import Run
from bedside.record.series import Series

EVALUATIONS = 5  # since then: a median of the last three, and two on the way
NOISE = 3.0  # σ of one evaluation: less is luck
NEAR = 0.1  # of what was won since, above the best: the level now is a median, and lags behind


def held_out_went_on(run: Run, step: int) -> bool:
    """Whether every validation loss is clearly lower now than it was at `step`, and near its best."""
    losses = [each.finite() for each in validation_losses(run)]
    return bool(losses) and all(_went_on(each, step) for each in losses)


def _went_on(series: Series, step: int) -> bool:
    if len(series.since(step + 1)) < EVALUATIONS or len(series.before(step + 1)) < 1:
        return False
    curve = outline(series)
    won = level_at(curve, step) - curve.now
    return won > NOISE * curve.noise and curve.now - curve.best <= max(NOISE * curve.noise, NEAR * won)
