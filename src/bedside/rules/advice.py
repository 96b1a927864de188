"""What to type, with the run's own numbers in it; shared so that all rules prescribe in the same words.

>>> new_learning_rate(3e-3, 2.7e-4)
'lower the learning rate from 0.003 to about 3e-4'
"""

from __future__ import annotations

import math

import numpy as np

from bedside.record.run import Run
from bedside.record.vocabulary import LR
from bedside.report.wording import number


def one_digit(value: float) -> float:
    """`value` to one significant digit: what a person would type for the next attempt."""
    return float(f"{value:.0e}") if value and math.isfinite(value) else value


def learning_rate(run: Run, first: int, last: int) -> float:
    """The usual learning rate of these steps; NaN if it was not recorded."""
    series = run.series(LR.name).finite()
    within = series.since(first).before(last + 1)
    if not within and series:
        within = series.before(last + 1).tail(1) or series.head(1)  # logged at intervals: the nearest reading
    return float(np.median(within.values)) if within else math.nan


def new_learning_rate(old: float, new: float) -> str:
    """`lower the learning rate from 0.1 to about 0.001`, or raise it."""
    return f"{'lower' if new < old else 'raise'} the learning rate from {number(old)} to about {number(one_digit(new))}"


def lower_learning_rate(run: Run, first: int, last: int, by: float = 10.0) -> str:
    """Lower it by a factor, with the number when it is known."""
    old = learning_rate(run, first, last)
    if math.isfinite(old) and old > 0:
        return new_learning_rate(old, old / by)
    return f"lower the learning rate {number(by)}-fold"


def raise_learning_rate(run: Run, first: int, last: int, by: float = 10.0) -> str:
    """Raise it by a factor, with the number when it is known."""
    old = learning_rate(run, first, last)
    if math.isfinite(old) and old > 0:
        return new_learning_rate(old, old * by)
    return f"raise the learning rate {number(by)}-fold"


def moment(run: Run, step: int) -> str:
    """`step 1,200`, or `epoch 12` where the log counts in epochs."""
    return f"{'epoch' if run.axis == 'epoch' else 'step'} {step:,}"
