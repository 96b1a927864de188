"""Class weights beside the frequencies of their classes: do they make up for rarity, or add to it?

>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> inverted = {"weights": [0.9, 0.1], "counts": [900.0, 100.0]}
>>> weights_that_follow(a_run(loss=1.0, events=[Event(0, "class_weights", inverted)]))
WeightsThatFollow(common=0, rare=1, weights=(0.9, 0.1), shares=(0.9, 0.1))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.record.run import Run


@dataclass(frozen=True)
class Limits:
    labels: int = 100  # counted: the shares of fewer are a guess
    each: int = 5  # of a class that is compared
    apart: float = 2.0  # times as many of the commonest as of the rarest: nearly balanced classes need no weights
    steepness: float = 0.25  # around 1, the slope of log weight over log frequency: made from counts, upside down
    alike: float = 0.95  # correlation of both: weights of any other origin scatter


LIMITS = Limits()


@dataclass(frozen=True)
class WeightsThatFollow:
    """Weights that rise with the frequency of their class: of the commonest and of the rarest class."""

    common: int
    rare: int
    weights: tuple[float, float]
    shares: tuple[float, float]


def weights_that_follow(run: Run, limits: Limits = LIMITS) -> WeightsThatFollow | None:
    """None where weights fall with frequency, as they should, or have nothing to do with it."""
    events = run.events_of("class_weights")
    if not events:
        return None
    weights = np.asarray(events[-1].data["weights"], float)
    tables = [np.asarray(event.data["counts"], float) for event in events if len(event.data["counts"]) == len(weights)]
    counts = np.sum(tables, axis=0)
    known = np.flatnonzero((counts >= limits.each) & (weights > 0))
    if counts.sum() < limits.labels or len(known) < 2:
        return None
    often, heavy = np.log(counts[known]), np.log(weights[known])
    if np.ptp(often) < np.log(limits.apart) or not np.ptp(heavy) > 0:
        return None
    slope = float(np.polyfit(often, heavy, 1)[0])
    if abs(slope - 1) > limits.steepness or float(np.corrcoef(often, heavy)[0, 1]) < limits.alike:
        return None
    common, rare = int(known[often.argmax()]), int(known[often.argmin()])
    shares = counts / counts.sum()
    return WeightsThatFollow(
        common, rare, (float(weights[common]), float(weights[rare])), (float(shares[common]), float(shares[rare]))
    )
