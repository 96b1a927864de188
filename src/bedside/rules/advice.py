"""What to type, with the run's own numbers in it; shared so that all rules prescribe in the same words.

>>> new_learning_rate(3e-3, 2.7e-4)
'Lower the learning rate from 0.003 to about 3e-4.'
"""

from __future__ import annotations

import math

import numpy as np

from bedside.record.run import Run
from bedside.record.vocabulary import LR
from bedside.wording import count, number


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


def new_learning_rate(old: float, new: float) -> str:
    """`Lower the learning rate from 0.1 to about 0.001.`, or raise it."""
    verb = "Lower" if new < old else "Raise"
    return f"{verb} the learning rate from {number(old)} to about {number(one_digit(new))}."


def lower_learning_rate(run: Run, step: int, by: float = 10.0) -> str:
    """Lower it by a factor, with the number it had at `step` when that is known."""
    old = learning_rate(run, step)
    if math.isfinite(old) and old > 0:
        return new_learning_rate(old, old / by)
    return f"Lower the learning rate {number(by)}-fold."


def raise_learning_rate(run: Run, step: int, by: float = 10.0) -> str:
    """Raise it by a factor, with the number it had at `step` when that is known."""
    old = learning_rate(run, step)
    if math.isfinite(old) and old > 0:
        return new_learning_rate(old, old * by)
    return f"Raise the learning rate {number(by)}-fold."
