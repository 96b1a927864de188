"""What to type, with the run's own numbers in it, and only where it makes sense for this run.

Every piece of advice that many rules give is a function here: it checks its own precondition and returns nothing where
that does not hold (no lower rate than anybody uses, no checkpoint from before the first steps, no clipping where the
run clips already). What it turns up or down is data, so that `diagnosis/prescription.py` can keep one direction.

>>> new_learning_rate(3e-3, 2.7e-4)
'Lower the learning rate from 0.003 to about 3e-4.'
>>> new_learning_rate(1e-8, 1e-9)
''
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bedside.analysis.precision import half_without_scaling
from bedside.finding import Advice
from bedside.record.run import Run
from bedside.record.vocabulary import CLIP_THRESHOLD, LR, RELATIVE_UPDATE, SATURATED_FRACTION
from bedside.wording import count, number

LEARNING_RATE, CLIPPING, WEIGHT_DECAY = "learning rate", "clipping threshold", "weight decay"
REGULARISATION, BATCH_SIZE = "regularisation", "batch size"
NONE = Advice("")


@dataclass(frozen=True)
class Limits:
    lowest_rate: float = 1e-7  # ten times below the lowest that published recipes use
    highest_rate: float = 1.0  # plain SGD on normalised losses; above it published recipes do not go
    least_rate: float = 1e-6  # the lowest that published recipes use
    usual_update: float = 1e-3  # of the weights: what most healthy runs do in a step
    tiny_update: float = 2e-4  # of the weights: a fifth of that; a network at a guess that moves less is on its way
    fine_tuning: float = 1e-5  # a rate for models that are trained already: one that is at a guess is not
    usual_adam: float = 1e-3  # Adam's default, and the usual first try
    usual_sgd: float = 0.1  # what most published recipes with plain SGD begin with
    ended: float = 0.01  # of the peak: the schedule has taken the rate away, which no new number cures
    checkpoint: int = 10  # steps: before that there is nothing to go back to
    scheduled: float = 0.9  # of the peak: a rate that ever was below it follows a schedule
    largest_norm: float = 1e5  # of a gradient: healthy runs were seen up to there
    warmed: float = 0.5  # of the peak: a rate that begins below it warms up already


LIMITS = Limits()


def moment(run: Run, step: int) -> str:
    """`step 1,200`, or `epoch 12` where the log counts in those."""
    return f"{'epoch' if run.axis == 'epoch' else 'step'} {count(step)}"


def one_digit(value: float) -> float:
    """`value` to one significant digit: what a person would type for the next attempt."""
    return float(f"{value:.0e}") if value and math.isfinite(value) else value


def learning_rate(run: Run, first: int, last: int | None = None) -> float:
    """The usual learning rate from `first` to `last` (that one step by default); NaN if it was not recorded."""
    last = first if last is None else last
    series = run.series(LR.name).finite()
    within = series.since(first).before(last + 1)
    if not within and series:
        within = series.before(last + 1).tail(1) or series.head(1)  # logged at intervals: the nearest reading
    return float(np.median(within.values)) if within else math.nan


def new_learning_rate(old: float, new: float) -> Advice:
    """`Lower the learning rate from 0.1 to about 0.001.`, or raise it; nothing where nobody would go."""
    new = one_digit(new)
    if not (old > 0 and new > 0) or new == old:
        return NONE
    lower = new < old
    if lower and new < LIMITS.lowest_rate:
        return NONE
    if not lower and new > LIMITS.highest_rate:
        return NONE
    if lower and new > LIMITS.highest_rate:  # a tenth of far too much is too much
        new = LIMITS.usual_sgd
    if not lower and new < LIMITS.least_rate:  # ten times next to nothing is next to nothing
        new = LIMITS.usual_adam
    verb = "Lower" if lower else "Raise"
    text = f"{verb} the learning rate from {number(old)} to about {number(new)}."
    return Advice(text, LEARNING_RATE, -1 if lower else 1)


def lower_learning_rate(run: Run, step: int, by: float = 10.0) -> Advice:
    """Lower it by a factor, with the number it had at `step` when that is known."""
    old = learning_rate(run, step)
    if math.isfinite(old):
        return new_learning_rate(old, old / by)
    return Advice(f"Lower the learning rate {number(by)}-fold.", LEARNING_RATE, -1)


def raise_learning_rate(run: Run, step: int, by: float = 10.0) -> Advice:
    """Raise it by a factor, with the number it had at `step` when that is known; not where a schedule had ended it."""
    old = learning_rate(run, step)
    if not math.isfinite(old):
        return Advice(f"Raise the learning rate {number(by)}-fold.", LEARNING_RATE, 1)
    peak = float(run.series(LR.name).finite().values.max())
    return NONE if old < LIMITS.ended * peak else new_learning_rate(old, old * by)


def better_learning_rate(run: Run, step: int) -> Advice:
    """For a loss that stays at a guess: higher where the weights hardly move, lower where they may have been ruined."""
    old, moved = learning_rate(run, step), run.series(RELATIVE_UPDATE.name).finite()
    if moved and 0 < moved.median() < LIMITS.tiny_update:
        return raise_learning_rate(run, step, by=one_digit(LIMITS.usual_update / moved.median()))
    if not moved and old <= LIMITS.fine_tuning:
        return raise_learning_rate(run, step)
    return lower_learning_rate(run, step)


def go_back(run: Run, step: int) -> Advice:
    """To a checkpoint from before `step`, where there can be one."""
    if step < (1 if run.axis == "epoch" else LIMITS.checkpoint):
        return NONE
    return Advice(f"Go back to a checkpoint from before {moment(run, step)}.")


def clip_gradient(run: Run, at: float = 1.0) -> Advice:
    """Clip the gradient norm, unless the run does so already, or at what only an exploded gradient reaches."""
    if run.series(CLIP_THRESHOLD.name).finite() or not at <= LIMITS.largest_norm:
        return NONE
    return Advice(
        f"Clip the gradient norm: clip_grad_norm_(model.parameters(), {number(one_digit(at))}).", CLIPPING, -1
    )


def scale_the_loss(run: Run) -> Advice:
    """Where gradients are made in float16 and nobody scales the loss: what is too small for it becomes zero."""
    if not half_without_scaling(run):
        return NONE
    return Advice(
        "Gradients below 6e-8 are zero in float16: scale the loss with torch.amp.GradScaler(), or autocast to bfloat16."
    )


def warm_up(run: Run) -> Advice:
    """Warm the learning rate up over a twentieth of the run, unless it does so already."""
    rates = run.series(LR.name).finite()
    if rates and rates.values[0] < LIMITS.warmed * rates.values.max():
        return NONE
    return Advice(f"Warm the learning rate up over the first {count(max(10, run.steps // 20))} steps.")


def train_longer(run: Run) -> Advice:
    """Half as long again, with the schedule stretched if there is one."""
    rates = run.series(LR.name).finite()
    scheduled = len(rates) > 0 and rates.last < LIMITS.scheduled * rates.values.max()
    stretched = f", with the schedule stretched to {count(int(1.5 * run.steps))} steps" if scheduled else ""
    return Advice(f"Train for half as long again{stretched}.")


def other_nonlinearity(run: Run, where: str) -> Advice:
    """ReLU or GELU instead of sigmoid or tanh, where there are such; a question where nobody knows."""
    if run.has(SATURATED_FRACTION.name, per_owner=True):
        return Advice(f"Replace sigmoid or tanh in {where} by ReLU or GELU, with He initialisation.")
    if run.has("dead_fraction", per_owner=True):
        return NONE  # it has ReLU or its like, and no other that was seen
    return Advice(f"If {where} use sigmoid or tanh: ReLU or GELU instead, with He initialisation.")
