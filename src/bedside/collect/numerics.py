"""Updates that the weights could not hold, and second moments that are zero though the gradient is not.

A step smaller than half the gap between two neighbouring numbers is rounded away; analytic monitors still report it as
made. Here a few elements of every parameter are compared before and after the step, bit by bit: those that had a
gradient and did not change were swallowed. And where an optimizer keeps a second moment, those whose square underflowed
to zero, so that the update is a division by epsilon alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import Collector, Patient, RowSet
from bedside.collect.freight import Ticket
from bedside.collect.sample import sample
from bedside.record.missing import MISSING
from bedside.record.run import Key

ELEMENTS = 1024  # per parameter: a share is then known to 1.6 points, and a module has several
VITALS = ("swallowed_fraction", "underflowed_fraction")


class Numerics(Collector):
    """Compares weights before and after the step, on sampled steps."""

    name = "numerics"
    vitals = VITALS

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._due = False
        self._turn = 0
        self._before: list[
            tuple[Tensor, str, Tensor, Tensor]
        ] = []  # parameter, owner, its elements, who has a gradient
        self._counts: dict[str, list[Tensor]] = {}
        self._waiting: list[tuple[int, list[str], Ticket]] = []

    def attach(self, step: int) -> None:
        self._due = True
        self._turn += 1

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:  # type: ignore[override]
        if not self._due or closure:  # inside a closure the gradient is not known before the step
            return
        index, home = self.patient.layout.index, self.patient.layout.home
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None or id(parameter) not in index or gradient.layout is not torch.strided:
                    continue
                if hasattr(parameter, "to_local") or parameter.is_complex():
                    continue
                moved = sample(gradient, self._turn, ELEMENTS) != 0
                values = sample(parameter, self._turn, ELEMENTS).clone()
                self._before.append((parameter, home[index[id(parameter)]], values, moved))

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:  # type: ignore[override]
        before, self._before = self._before, []
        for parameter, owner, old, moved in before:
            new = sample(parameter, self._turn, ELEMENTS)
            second = optimizer.state.get(parameter, {}).get("exp_avg_sq")
            counts = [moved.sum(), ((new == old) & moved).sum()]
            if isinstance(second, Tensor) and second.shape == parameter.shape:
                counts.append(((sample(second, self._turn, ELEMENTS) == 0) & moved).sum())
            else:
                counts.append(torch.full_like(counts[0], -1))
            self._counts.setdefault(owner, []).append(torch.stack(counts).double())

    def detach(self, step: int) -> None:
        self._due = False
        self._before = []
        if self._counts:
            counts, self._counts = self._counts, {}
            table = torch.stack([torch.stack(each).sum(0) for each in counts.values()])
            self._waiting.append((step, list(counts), self.freight.put(table)))

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        for step, owners, ticket in waiting:
            moved, swallowed, underflowed = ticket.numbers.reshape(len(owners), 3).T
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = [
                    np.where(moved > 0, swallowed / moved, MISSING),
                    np.where((moved > 0) & (underflowed >= 0), underflowed / moved, MISSING),
                ]
            columns: list[Key] = [(vital, owner) for vital in VITALS for owner in owners]
            yield RowSet("numerics", columns, [step], np.concatenate(shares)[None, :])
