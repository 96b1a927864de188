"""How much of the first loss a run has won: what seems wrong inside a network that learns well need not be."""

from __future__ import annotations

import math

from bedside.record.run import Run
from bedside.rules.losses import training_loss
from bedside.rules.statistics import outline

FEWEST = 20  # finite losses: fewer have no outline


def share_of_loss_won(run: Run) -> float:
    """From 0, where the loss is no lower than it began, to 1, where nothing of it is left; NaN if nobody knows."""
    losses = training_loss(run)
    finite = losses.finite()
    if len(finite) < FEWEST:
        return math.nan
    if len(finite) < 0.5 * len(losses):
        return 0.0
    curve = outline(finite)
    return (curve.start - curve.now) / curve.start if curve.start > 0 else math.nan
