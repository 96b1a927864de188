"""Updates that the weights could not hold, and second moments that are zero though the gradient is not.

A step smaller than half the gap between two neighbouring numbers is rounded away; analytic monitors still report it as
made. Here a few elements of every parameter are compared before and after the step, bit by bit: those that had a
gradient and did not change were swallowed. And where an optimizer keeps a second moment, those whose square underflowed
to zero, so that the update is a division by epsilon alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np
from torch.optim import Optimizer

from bedside.collect.collector import Collector, Patient, RowSet
from bedside.collect.elements import Elements, gradients, readable
from bedside.collect.freight import Ticket
from bedside.collect.layout import Layout
from bedside.record.missing import MISSING
from bedside.record.run import Key

VITALS = ("swallowed_fraction", "underflowed_fraction")

# Per parameter of an optimizer: whose it is, whether it has a second moment, and how many elements have a gradient,
# were swallowed, and have a second moment of zero.
Counts = tuple[list[str], list[bool], Ticket]


class Numerics(Collector):
    """Compares weights before and after the step, on sampled steps."""

    name = "numerics"
    vitals = VITALS

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._due = False
        self._turn = 0
        self._elements: dict[int, tuple[Any, Elements]] = {}  # per optimizer: what they were made for, and they
        self._before: tuple[Any, Any] | None = None  # which elements have a gradient, and what they were
        self._counts: list[Counts] = []
        self._waiting: list[tuple[int, list[Counts]]] = []

    def attach(self, step: int) -> None:
        self._due = True
        self._turn += 1

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:  # type: ignore[override]
        self._before = None
        if not self._due or closure:  # inside a closure the gradient is not known before the step
            return
        elements = self._of(optimizer)
        if elements.tensors:
            moved = elements.pick(gradients(elements.tensors), self._turn) != 0
            self._before = (moved, elements.pick(elements.tensors, self._turn, row=1))

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:  # type: ignore[override]
        before, self._before = self._before, None
        if before is None:
            return
        (moved, old), elements = before, self._of(optimizer)
        swallowed = (elements.pick(elements.tensors, self._turn) == old) & moved
        seconds = [optimizer.state[p].get("exp_avg_sq") if p in optimizer.state else None for p in elements.tensors]
        fitting = [s is not None and s.shape == p.shape for s, p in zip(seconds, elements.tensors, strict=True)]
        zero = swallowed  # told only where it fits
        if any(fitting):
            kept = [second if fits else None for second, fits in zip(seconds, fitting, strict=True)]
            zero = (elements.pick(kept, self._turn) == 0) & moved
        index, home = self.patient.layout.index, self.patient.layout.home
        owners = [home[index[id(p)]] for p in elements.tensors]
        self._counts.append((owners, fitting, self.freight.put(elements.count(moved, swallowed, zero))))

    def detach(self, step: int) -> None:
        self._due = False
        self._before = None
        if self._counts:
            self._waiting.append((step, self._counts))
            self._counts = []

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        for homes, alike in groupby(waiting, key=lambda each: [owner for owners, _, _ in each[1] for owner in owners]):
            samples = list(alike)
            owners = {owner: place for place, owner in enumerate(dict.fromkeys(homes))}
            places = [owners[owner] for owner in homes]
            sums = np.zeros((len(owners), len(samples), 3))
            parts = [[_with_missing(fitting, ticket.numbers) for _, fitting, ticket in counts] for _, counts in samples]
            np.add.at(sums, places, np.stack([np.concatenate(each, axis=1).T for each in parts], axis=1))
            moved, swallowed, underflowed = np.moveaxis(sums.swapaxes(0, 1), 2, 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = [
                    np.where(moved > 0, swallowed / moved, MISSING),
                    np.where((moved > 0) & ~np.isnan(underflowed), underflowed / moved, MISSING),
                ]
            columns: list[Key] = [(vital, owner) for vital in VITALS for owner in owners]
            yield RowSet("numerics", columns, [step for step, _ in samples], np.concatenate(shares, axis=1))

    def _of(self, optimizer: Optimizer) -> Elements:
        layout: Layout = self.patient.layout
        made_for = (layout, [len(group["params"]) for group in optimizer.param_groups])
        known = self._elements.get(id(optimizer))
        if known is None or known[0][0] is not layout or known[0] != made_for:
            known = self._elements[id(optimizer)] = (made_for, Elements(readable(optimizer, layout)))
        return known[1]


def _with_missing(fitting: list[bool], numbers: np.ndarray) -> np.ndarray:
    counts = numbers.reshape(3, -1).copy()
    counts[2, ~np.asarray(fitting)] = MISSING
    return counts
