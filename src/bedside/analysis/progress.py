"""How much of the first loss a run has won: what seems wrong inside a network that learns well need not be.

Coming down from above chance is not learning: a network whose first loss is 36 where a blind guess has 2.3 wins 94 %
of it by answering nothing at all. Where chance is known, what lies above it does not count; nor does a loss that came
down to the entropy of lopsided labels, or to the variance of the targets, and stays there.
"""

from __future__ import annotations

import math

import numpy as np

from bedside.analysis.chance_levels import known_chance, sits_on_a_guess
from bedside.analysis.losses import training_loss, validation_losses
from bedside.analysis.statistics import outline
from bedside.record.run import Run
from bedside.record.series import Series, Steps, Values

MIN_LOSSES = 20  # finite losses: fewer have no outline
MOSTLY_LOST = 0.5  # of the losses are finite: with fewer, nothing was won
SOLVED = 1e-3  # of the first loss: what is left is rounding, or nearly so
MIN_EVALUATIONS = 5
LAST = 0.25  # of the run
GONE = 1e-3  # of the first gradients: nothing pulls any more


def share_of_loss_won(run: Run) -> float:
    """From 0, where the loss is no lower than it began or than chance, to 1, where nothing of it is left; NaN if nobody
    knows."""
    losses = training_loss(run)
    finite = losses.finite()
    if len(finite) < MIN_LOSSES:
        return math.nan
    if len(finite) < MOSTLY_LOST * len(losses):
        return 0.0
    curve = outline(finite)
    if sits_on_a_guess(run.config, curve.now) is not None:
        return 0.0
    chance = known_chance(run.config)
    start = min(curve.start, chance.level) if chance and chance.level > 0 else curve.start
    return max(0.0, start - curve.now) / start if start > 0 else math.nan


def converged(run: Run) -> bool:
    """Whether it is finished: the loss at a thousandth of its start, and the gradient, where recorded, gone with it."""
    finite, norms = training_loss(run).finite(), run.series("grad_norm").finite()
    if len(finite) < MIN_LOSSES:
        return False
    curve = outline(finite)
    if not abs(curve.now) <= SOLVED * curve.start:
        return False
    return len(norms) < MIN_LOSSES or norms.median(MIN_LOSSES) <= GONE * norms.head(MIN_LOSSES).median()


def learned_to_the_end(run: Run, share: float) -> bool:
    """Whether training and validation loss both won at least this share of all their progress in the last quarter."""
    losses = training_loss(run).finite()
    held_out = next((each for each in map(Series.finite, validation_losses(run)) if len(each) >= MIN_EVALUATIONS), None)
    if len(losses) < MIN_LOSSES or held_out is None:
        return False
    curve = outline(losses)
    return won_late(curve.steps, curve.values) >= share and won_late(held_out.steps, held_out.values) >= share


def won_late(steps: Steps | Values, values: Values) -> float:
    """The share of a curve's progress that came in its last quarter.

    >>> won_late(np.arange(5), np.array([4.0, 3.0, 2.0, 1.0, 0.0])), won_late(np.arange(5), np.array([4.0, 1, 0, 0, 0]))
    (0.25, 0.0)
    """
    then = float(np.interp(steps[-1] - LAST * (steps[-1] - steps[0]), steps, values))
    progress = float(values[0] - values[-1])
    return (then - float(values[-1])) / progress if progress > 0 else 0.0
