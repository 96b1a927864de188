"""Weights that something other than the optimizer moves again and again: between steps, they should not move at all.

Two kinds are no habit of healthy loops. Weights that are *replaced*: they go a good part of their own size from one
reading to the next, much further than all steps in between could take them. And weights that *climb*: between
neighbouring steps they move along the gradient, and further than the step before was long. A projection (clipped
weights, a norm that is kept) also undoes what a step did, but no more than that: what was allowed before the step is
never further away than the step was long.

>>> from bedside.testing import a_run
>>> run = a_run(outside_move=[0.0, 0.0, 14.0] * 20, own_move=0.01, outside_uphill=0.0, moved_norm=10.0)
>>> len(replacements(run)), len(climbs(run))
(20, 0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.record.run import Run
from bedside.record.series import Steps, Values
from bedside.record.vocabulary import MOVED_NORM, OUTSIDE_MOVE, OUTSIDE_UPHILL, OWN_MOVE


@dataclass(frozen=True)
class Limits:
    replaced: float = 0.3  # of the weights' size: new random numbers are 1.4 away, an average of two models 0.7
    further: float = 3.0  # times what the steps in between add up to, each as long as the longest lately
    lately: int = 5  # readings that show how long steps are
    beyond: float = 1.2  # times the step before: a projection is at most 1
    uphill: float = 0.5  # cosine with the gradient at the middle of all: noise and averages have 0


LIMITS = Limits()


@dataclass(frozen=True)
class OutsideMove:
    """From the reading before to this one the weights moved so far, as a share of their size and of a step's length."""

    step: int
    since: int
    share: float
    times: float


def replacements(run: Run, limits: Limits = LIMITS) -> list[OutsideMove]:
    """Readings between which the weights were exchanged for others."""
    read = _readings(run)
    found = []
    for at in range(1, len(read.steps)):
        apart = int(read.steps[at] - read.steps[at - 1])  # as Python's own: numpy's numbers warn where they overflow
        longest, size = float(read.own[max(0, at - limits.lately) : at + 1].max()), float(read.sizes[at])
        if read.moves[at] > max(limits.replaced * size, limits.further * apart * longest):
            found.append(read.at(at, longest))
    return found


def climbs(run: Run, limits: Limits = LIMITS) -> list[OutsideMove]:
    """Neighbouring steps between which the weights went uphill, further than the step before had gone; none unless
    they go uphill as a rule."""
    read = _readings(run)
    near = np.flatnonzero(np.diff(read.steps) == 1) + 1
    if not len(near) or not float(np.median(np.where(read.moves[near] > 0, read.uphill[near], 0.0))) > limits.uphill:
        return []
    far = [int(at) for at in near if read.own[at - 1] > 0 and read.moves[at] > limits.beyond * read.own[at - 1]]
    return [read.at(at, float(read.own[at - 1])) for at in far]


@dataclass(frozen=True)
class _Readings:
    steps: Steps
    moves: Values
    own: Values  # lengths of the steps themselves
    uphill: Values  # 0 where nothing moved
    sizes: Values  # of the weights

    def at(self, place: int, step_length: float) -> OutsideMove:
        move, size = float(self.moves[place]), float(self.sizes[place])
        return OutsideMove(
            int(self.steps[place]),
            int(self.steps[place - 1]),
            move / size if size else np.inf,
            move / step_length if step_length else np.inf,
        )


def _readings(run: Run) -> _Readings:
    moves, own, sizes = (run.series(vital.name) for vital in (OUTSIDE_MOVE, OWN_MOVE, MOVED_NORM))
    if not len(moves) == len(own) == len(sizes):
        moves = own = sizes = moves.head(0)
    uphill = run.series(OUTSIDE_UPHILL.name).finite()
    known = dict(zip(uphill.steps.tolist(), uphill.values.tolist(), strict=True))
    cosines = np.asarray([known.get(step, 0.0) for step in moves.steps.tolist()])
    return _Readings(moves.steps, np.nan_to_num(moves.values), np.nan_to_num(own.values), cosines, sizes.values)
