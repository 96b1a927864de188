"""How far parameters move in a step: remembered before it, measured after it.

Where the next step is read as well, what is measured is remembered in the same pass, so that nothing needs to be copied
before that step: unless somebody else changed the weights in between (loaded them again, clamped or averaged them).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bedside.collect.model.change_check import ChangeCheck
from bedside.collect.reading.addresses import Addresses
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.squared_norms import (
    CHUNK,
    Floats,
    Rows,
    SquaredNorms,
    dot,
    gather,
    on_device,
    square,
    squares_of,
)
from bedside.record.missing import MISSING
from bedside.training.freed_tensors import is_freed

WHOLE = 5  # first steps before which all weights are compared: whoever clamps a layer does so from the beginning
TRUSTED_STEPS = 3  # times that others may have changed weights; from then on they are copied before every step


class Chunk(NamedTuple):
    """A part of a parameter, as it was and as it is."""

    old: Rows
    new: Rows


class Moved:
    """Remembers a list of parameters before a step; change and size of each afterwards.

    `stay`: they are the same tensors every time, so that it can be seen whether somebody else changed one.
    """

    def __init__(self, parameters: Sequence[Tensor], *, stay: bool = True) -> None:
        self._squared_norms = squared_norms = SquaredNorms(parameters)
        self._old_flat, old_views = squared_norms.buffer()
        self._new_flat, self._new_views = squared_norms.buffer()
        self._old_tables, self._new_tables = squared_norms.tables(self._old_flat), squared_norms.tables(self._new_flat)
        self._new_row = self._new_flat.numpy()
        small = dict(zip(squared_norms.small, old_views, strict=True))
        self._large = [i for i in range(len(parameters)) if i not in small]
        # One buffer for each parameter, in their order.
        self._olds = [
            small[i] if i in small else torch.empty_like(each, requires_grad=False) for i, each in enumerate(parameters)
        ]
        self._pairs = native.Pairs(self._olds)
        self._addresses = Addresses()
        self._found: list[int] = []  # the addresses for which these two were made:
        self._small_rows: list[Rows] | None = None  # all small parameters, if numpy can read them where they lie
        self._chunks: list[list[Chunk] | None] = []  # per large one, the same
        self._change_check = ChangeCheck(self._addresses)
        self._trust = TRUSTED_STEPS if squared_norms.on_cpu and stay else 0
        self._compare_whole = WHOLE

    def remember(self, parameters: Sequence[Tensor], *, fresh: bool = False) -> None:
        """Before a step. `fresh`: the step before it was measured, so that they should be remembered already."""
        if fresh and self._trust > 0:
            if self._change_check.unchanged() and self._are_as_remembered(parameters):
                return
            self._trust -= 1
        natively = native.ready() and self._squared_norms.on_cpu
        if not (natively and self._pairs.remember(parameters, self._addresses.find(parameters))):
            gather(self._olds, parameters)

    def _are_as_remembered(self, parameters: Sequence[Tensor]) -> bool:
        """Every number of them, at the first steps; afterwards the change check has to do."""
        if self._compare_whole == 0:
            return True
        self._compare_whole -= 1
        return all(map(torch.equal, self._olds, parameters))

    def measure(self, parameters: Sequence[Tensor]) -> tuple[Tensor | Floats, Tensor | Floats]:
        """(squared change, squared size) per parameter; they are remembered as they are now."""
        if not self._squared_norms.on_cpu:
            _subtract(self._olds, parameters)
            return on_device(self._olds), on_device(parameters)
        addresses = self._addresses.find(parameters)
        found = self._pairs.measure(parameters, addresses) if native.ready() else None
        change, size = self._measure_one_by_one(parameters, addresses) if found is None else found
        if self._trust > 0:
            self._change_check.note(parameters)
        return change, size

    def measure_with_gradients(self, parameters: Sequence[Tensor]) -> Floats | None:
        """The same and the squares of the gradients, a row each, where one call can do it all; None otherwise."""
        if not (native.ready() and self._squared_norms.on_cpu):
            return None
        found = self._pairs.measure(parameters, self._addresses.find(parameters), gradients=True)
        if found is not None and self._trust > 0:
            self._change_check.note(parameters)
        return found

    def _measure_one_by_one(self, parameters: Sequence[Tensor], addresses: list[int]) -> tuple[Floats, Floats]:
        if self._found is not addresses:
            self._look_up(parameters)
            self._found = addresses
        squared_norms, old, new = self._squared_norms, self._old_flat, self._new_flat
        change, size = np.zeros(squared_norms.count), np.zeros(squared_norms.count)
        if squared_norms.small:
            if self._small_rows is not None:
                np.concatenate(self._small_rows, out=self._new_row)
            else:
                gather(self._new_views, [parameters[i] for i in squared_norms.small])
            size[squared_norms.places] = squares_of(self._new_tables)
            old.sub_(new)
            change[squared_norms.places] = squares_of(self._old_tables)
            old.copy_(new)
        with np.errstate(over="ignore", invalid="ignore"):  # once: it takes as long as reading a small tensor
            for i, chunks in zip(self._large, self._chunks, strict=True):
                if chunks is not None:
                    change[i], size[i] = _change(chunks)
                else:
                    change[i], size[i] = _change_of_any(self._olds[i], parameters[i])
        return change, size

    def _look_up(self, parameters: Sequence[Tensor]) -> None:
        small = self._squared_norms.small
        rows = [row for i in small if (row := self._addresses.row(i)) is not None]
        self._small_rows = rows if len(rows) == len(small) else None
        self._chunks = [self._cut(i, self._addresses.row(i)) for i in self._large]

    def _cut(self, place: int, row: Rows | None) -> list[Chunk] | None:
        old = self._olds[place]
        if row is None or not old.is_contiguous():
            return None
        flat = old.view(-1).numpy()
        return [Chunk(flat[at : at + CHUNK], row[at : at + CHUNK]) for at in range(0, row.size, CHUNK)]


def _change(chunks: Sequence[Chunk]) -> tuple[float, float]:
    """(squared change, squared size), chunk by chunk while it is in the cache; the old becomes the new."""
    change = size = 0.0
    for old, new in chunks:
        np.subtract(old, new, out=old)
        change += dot(old)
        size += dot(new)
        np.copyto(old, new)
    return change, size


def _change_of_any(old: Tensor, new: Tensor) -> tuple[float, float]:
    """The same for tensors that numpy cannot read as they lie."""
    if is_freed(new):
        return MISSING, MISSING
    _subtract([old], [new])
    change = square(old)
    gather([old], [new])
    return change, square(new)


def _subtract(old: Sequence[Tensor], new: Sequence[Tensor]) -> None:
    if old:
        with torch.no_grad():
            torch._foreach_sub_(list(old), list(new))
