"""How far parameters move in a step: remembered before it, measured after it.

Where the next step is read as well, what is measured is remembered in the same pass, so that nothing needs to be copied
before that step: unless somebody else changed the weights in between (loaded them again, clamped or averaged them).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bedside.collect import native
from bedside.collect.squares import CHUNK, EXACT, Floats, Gauge, Rows, as_row, gather, on_device, square, squares_of
from bedside.collect.squares import dot as dot_of

LOOKED_AT = 2  # tensors, others before every step: who changes all weights is noticed at once, who clamps one, soon
STRIDE = 7919  # from one number that is compared to the next: a prime, so that all places of a tensor get their turn
TRUST = 3  # times that others may have changed weights; from then on they are copied before every step


class Moved:
    """Remembers a list of parameters before a step; change and size of each afterwards."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._gauge = gauge = Gauge(parameters)
        old_flat, old_views = gauge.buffer()
        new_flat, self._new_views = gauge.buffer()
        self._old_row, self._new_row = old_flat.numpy(), new_flat.numpy()
        self._old_tables, self._new_tables = gauge.tables(old_flat), gauge.tables(new_flat)
        small = dict(zip(gauge.small, old_views, strict=True))
        self._large = [i for i in range(len(parameters)) if i not in small]
        # One buffer for each parameter, in their order.
        self._olds = [
            small[i] if i in small else torch.empty_like(each, requires_grad=False) for i, each in enumerate(parameters)
        ]
        self._pairs = native.Pairs(self._olds)
        self._rows = KnownRows()
        self._guard = Guard(self._olds, self._rows)
        self._trust = TRUST if gauge.on_cpu else 0

    def remember(self, parameters: Sequence[Tensor], *, fresh: bool = False) -> None:
        """Before a step. `fresh`: the step before it was measured, so that they should be remembered already."""
        if fresh and self._trust > 0:
            if self._guard.unchanged(parameters):
                return
            self._trust -= 1
        if not (native.ready() and self._gauge.on_cpu and self._pairs.remember(parameters)):
            gather(self._olds, parameters)

    def measure(self, parameters: Sequence[Tensor]) -> tuple[Tensor | Floats, Tensor | Floats]:
        """(squared change, squared size) per parameter; they are remembered as they are now."""
        if not self._gauge.on_cpu:
            _subtract(self._olds, parameters)
            return on_device(self._olds), on_device(parameters)
        found = self._pairs.measure(parameters) if native.ready() else None
        found = found or self._measure_one_by_one(parameters)
        if self._trust > 0:
            self._guard.note(parameters)
        return found

    def _measure_one_by_one(self, parameters: Sequence[Tensor]) -> tuple[Floats, Floats]:
        gauge, old, new = self._gauge, self._old_row, self._new_row
        change, size = np.zeros(gauge.count), np.zeros(gauge.count)
        with np.errstate(over="ignore", invalid="ignore"):
            if gauge.small:
                gather(self._new_views, [parameters[i] for i in gauge.small])
                size[gauge.places] = squares_of(self._new_tables, len(gauge.small))
                np.subtract(new, old, out=old)
                change[gauge.places] = squares_of(self._old_tables, len(gauge.small))
                np.copyto(old, new)
            for i in self._large:
                before, after = self._rows.of(-1 - i, self._olds[i]), self._rows.of(i, parameters[i])
                if before is None or after is None or before.dtype != after.dtype:
                    change[i], size[i] = _change_of_any(self._olds[i], parameters[i])
                else:
                    change[i], size[i] = _change(before, after)
        return change, size


class KnownRows:
    """Tensors as rows of numbers, without asking again for those that lie where they lay."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Rows | None]] = {}

    def of(self, place: int, tensor: Tensor) -> Rows | None:
        """Its numbers as they lie in memory; None if numpy cannot read them there."""
        address = tensor.data_ptr()
        known = self._known.get(place)
        if known is None or known[0] != address:
            known = self._known[place] = (address, as_row(tensor) if _is_row(tensor) else None)
        return known[1]


class Guard:
    """Says whether parameters are still what was remembered of them. Most changes show in a tensor's version; what is
    done through `.data` does not, so a number is compared as well. A few tensors have their turn each time."""

    def __init__(self, olds: Sequence[Tensor], rows: KnownRows) -> None:
        self._olds, self._rows = olds, rows
        self._turn = 0
        self._versions: list[int] = []

    def note(self, parameters: Sequence[Tensor]) -> None:
        """They were remembered just now."""
        self._turn += 1
        self._versions = [parameters[i]._version for i in self._places()]

    def unchanged(self, parameters: Sequence[Tensor]) -> bool:
        places = self._places()
        if self._versions != [parameters[i]._version for i in places]:
            return False
        place = places[0]
        old, new = self._rows.of(-1 - place, self._olds[place]), self._rows.of(place, parameters[place])
        if old is None or new is None or not old.size:
            return True
        spot = self._turn * STRIDE % old.size
        return bool(old[spot] == new[spot] or old[spot] != old[spot])

    def _places(self) -> list[int]:
        count = len(self._olds)
        first = self._turn * LOOKED_AT % count
        return [(first + i) % count for i in range(min(LOOKED_AT, count))]


def _change(old: Rows, new: Rows) -> tuple[float, float]:
    """(squared change, squared size), chunk by chunk while it is in the cache; `old` becomes `new`."""
    change = size = 0.0
    for start in range(0, new.size, CHUNK):
        one, other = old[start : start + CHUNK], new[start : start + CHUNK]
        np.subtract(other, one, out=one)
        change += dot_of(one)
        size += dot_of(other)
        np.copyto(one, other)
    return change, size


def _change_of_any(old: Tensor, new: Tensor) -> tuple[float, float]:
    """The same for tensors that numpy cannot read as they lie."""
    _subtract([old], [new])
    change = square(old)
    gather([old], [new])
    return change, square(new)


def _is_row(tensor: Tensor) -> bool:
    """Whether numpy can read it as it lies."""
    return tensor.dtype in EXACT and tensor.is_contiguous() and not hasattr(tensor, "to_local")


def _subtract(old: Sequence[Tensor], new: Sequence[Tensor]) -> None:
    if old:
        with torch.no_grad():
            torch._foreach_sub_(list(old), list(new))
