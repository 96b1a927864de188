"""How far do weights move between two steps, when nobody should touch them?

A few elements of every parameter are kept when a step ends and compared with what they are when a later one begins.
Between neighbouring steps they have not moved at all, unless something else than the optimizer writes to them: weights
that are initialised again, a perturbation that is not taken back, a projection. Where steps in between were not
observed, they have moved by what those steps added up to at most. The length of the step itself and the direction of
the move, along the gradient or not, are read from the same elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.elements import Elements
from bedside.record.missing import MISSING
from bedside.record.run import Key

VITALS = ("outside_move", "own_move", "outside_uphill", "moved_norm")


LOOKS = 16  # while the run doubles, after so many of its first steps


class OutsideMoves(Collector):
    """Compares the weights at the end of one step with those at the beginning of a later one."""

    name = "outside moves"
    vitals = VITALS
    sampled = False  # the groups' intervals are long, and a handful of readings costs little

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._next = 0  # the step from which on the next one is looked at
        self._left: Elements | None = None  # whose row has the weights as a step left them
        self._begun: list[Any] | None = None  # what was read when the step began
        self._waiting: list[tuple[int, PendingValue]] = []

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        self._begun = None
        if closure or self.context.step < self._next or len(self.context.optimizers) > 1:
            return  # of several, one's steps are in the way of the other's
        elements = self.context.elements(optimizer, self.context.layout)
        if not elements.tensors:
            return
        begins = elements.pick_stable(elements.tensors, "when a step began")
        slope = elements.gradients(self.context.step)
        with np.errstate(all="ignore"):  # weights and gradients that are not finite have rules of their own
            moved = begins - elements.kept("when a step ended") if self._left is elements else begins * float("nan")
            self._begun = [(moved * moved).sum(), (moved * slope).sum(), (slope * slope).sum()]

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        begun, self._begun = self._begun, None
        if begun is None:
            return
        elements = self.context.elements(optimizer, self.context.layout)
        now = elements.pick_stable(elements.tensors, "when a step ended")
        with np.errstate(all="ignore"):
            own = now - elements.kept("when a step began")
            sums = [*begun, (own * own).sum(), (now * now).sum()]
        self._left = elements
        self._next = self.context.step + max(1, self.context.step // LOOKS)
        numbers = torch.as_tensor(np.asarray(sums, np.float64)) if elements.here else torch.stack(sums).double()
        self._waiting.append((self.context.step, self.queue.put(numbers)))

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        if waiting:
            table = np.asarray([_lengths(*pending.numbers) for _, pending in waiting])
            columns: list[Key] = [(vital, "") for vital in VITALS]
            yield RowSet(self.name, columns, [step for step, _ in waiting], table)


def _lengths(moved: float, along: float, slope: float, own: float, weights: float) -> tuple[float, ...]:
    """Of both moves, the cosine between the first and the gradient, and the size of the weights that were looked at."""
    uphill = along / (moved * slope) ** 0.5 if moved > 0 and slope > 0 else MISSING
    return moved**0.5, own**0.5, uphill, weights**0.5
