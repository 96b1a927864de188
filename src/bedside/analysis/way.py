"""How far the weights went, and how the loss fell along that way.

The way is the sum of all relative updates: 1 means that the steps, laid end to end, are as long as the weights. A
network that learns from scratch goes a third of that or more, and its curve bends: the first part of the way wins the
most. A loss that falls as fast at the end of a short way as at its beginning was stopped by the shortness of the steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.record.vocabulary import LR, RELATIVE_UPDATE

MIN_UPDATES = 10  # readings of the relative update: the way between them is interpolated
PARTS = 6  # of equal length, into which the way is divided
MIN_READINGS = 3  # of the loss in each of them
NOISE = 4.0  # times that of a part's mean: less is no fall


@dataclass(frozen=True)
class Way:
    """`length` in weights; `evenness` is the pace of the fall in the last third of the way, over that of the whole."""

    length: float
    evenness: float
    first: float  # level of the loss over the first part, and over the last
    last: float


def way(run: Run, loss: Series) -> Way | None:
    """The way of a run and its loss along it; None where too little was read, or the loss fell by no more than noise.

    >>> from bedside.testing import a_run
    >>> run = a_run(loss=[2.3 - 0.001 * k for k in range(200)], relative_update_norm=1e-4)
    >>> found = way(run, run.loss)
    >>> round(found.length, 3), round(found.evenness, 1)
    (0.02, 1.0)
    """
    updates = run.series(RELATIVE_UPDATE.name).finite()
    if len(updates) < MIN_UPDATES or len(loss) < MIN_READINGS * PARTS:
        return None
    along = np.cumsum(_at_each(run, loss, updates))
    total = float(along[-1])
    if not math.isfinite(total) or total <= 0:
        return None
    places = np.searchsorted(along, np.linspace(0, total, PARTS + 1)[1:-1])
    parts = np.split(loss.values, places)
    if min(len(part) for part in parts) < MIN_READINGS:
        return None
    means = np.array([float(part.mean()) for part in parts])
    scatter = np.array([_scatter(part) / math.sqrt(len(part)) for part in parts])
    fell = float(means[0] - means[-1])
    if fell <= NOISE * math.hypot(scatter[0], scatter[-1]):
        return None
    late = float(means[-3] - means[-1]) - math.hypot(scatter[-3], scatter[-1])
    length = total * (loss.last_step - loss.first_step + 1) / len(loss)
    return Way(length, (late / 2) / (fell / (PARTS - 1)), float(means[0]), float(means[-1]))


def _at_each(run: Run, loss: Series, updates: Series) -> Values:
    """The relative update at every reading of the loss: between readings it changes as the learning rate does."""
    rates = run.series(LR.name).finite()
    if not rates:
        return np.interp(loss.steps, updates.steps, updates.values)
    beside = np.interp(updates.steps, rates.steps, rates.values)
    taken = beside > 0
    if int(taken.sum()) < MIN_UPDATES:
        return np.interp(loss.steps, updates.steps, updates.values)
    for_each_rate = np.interp(loss.steps, updates.steps[taken], updates.values[taken] / beside[taken])
    return for_each_rate * np.interp(loss.steps, rates.steps, rates.values)


def _scatter(values: Values) -> float:
    """The noise of one reading, whatever the slope: from the differences of neighbours."""
    return float(np.std(np.diff(values))) / math.sqrt(2)
