"""How far parameters move in a step: remembered before it, measured after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bedside.collect import native
from bedside.collect.squares import CHUNK, EXACT, Floats, Gauge, as_row, gather, on_device, square, squares_of
from bedside.collect.squares import dot as dot_of


class Moved:
    """Remembers a list of parameters before a step; change and size of each afterwards."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._gauge = gauge = Gauge(parameters)
        self._large = [i for i in range(len(parameters)) if i not in set(gauge.small)]
        self._old = [torch.empty_like(parameters[i], requires_grad=False) for i in self._large]
        self._old_flat, self._old_views = gauge.buffer()
        self._new_flat, self._new_views = gauge.buffer()
        self._old_tables, self._new_tables = gauge.tables(self._old_flat), gauge.tables(self._new_flat)
        # Which parameter every buffer holds, for one call that fills all of them.
        self._places = [*gauge.small, *self._large]
        self._olds = [*self._old_views, *self._old]
        self._pairs = native.Pairs(self._olds)

    def remember(self, parameters: Sequence[Tensor]) -> None:
        now = [parameters[i] for i in self._places]
        if not (native.ready() and self._gauge.on_cpu and self._pairs.remember(now)):
            gather(self._olds, now)

    def measure(self, parameters: Sequence[Tensor]) -> tuple[Tensor | Floats, Tensor | Floats]:
        """(squared change, squared size) per parameter; what was remembered is used up."""
        gauge = self._gauge
        if not gauge.on_cpu:
            _subtract(self._old, parameters)
            return on_device(self._old), on_device(parameters)
        change, size = np.zeros(gauge.count), np.zeros(gauge.count)
        if native.ready():
            self._measure_natively(parameters, change, size)
        else:
            if gauge.small:
                gather(self._new_views, [parameters[i] for i in gauge.small])
                old, new = self._old_flat.numpy(), self._new_flat.numpy()
                size[gauge.small] = squares_of(self._new_tables)
                with np.errstate(over="ignore", invalid="ignore"):
                    np.subtract(new, old, out=old)
                change[gauge.small] = squares_of(self._old_tables)
            for buffer, i in zip(self._old, self._large, strict=True):
                change[i], size[i] = _change(buffer, parameters[i])
        return change, size

    def _measure_natively(self, parameters: Sequence[Tensor], change: Floats, size: Floats) -> None:
        now = [parameters[i] for i in self._places]
        measured = self._pairs.measure(now)
        if measured is not None:
            change[self._places], size[self._places] = measured
            return
        suited = [k for k, (old, new) in enumerate(zip(self._olds, now, strict=True)) if native.alike(old, new)]
        places = [self._places[k] for k in suited]
        change[places], size[places] = native.changes([self._olds[k] for k in suited], [now[k] for k in suited])
        for k in set(range(len(now))).difference(suited):
            change[self._places[k]], size[self._places[k]] = _change(self._olds[k], now[k])


def _change(old: Tensor, new: Tensor) -> tuple[float, float]:
    """(squared change, squared size), chunk by chunk while it is in the cache; `old` is used up."""
    alike = old.dtype in EXACT and old.dtype is new.dtype and old.is_contiguous() and new.is_contiguous()
    if not alike or hasattr(new, "to_local"):
        _subtract([old], [new])
        return square(old), square(new)
    before, after = as_row(old), as_row(new)
    change = size = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, after.size, CHUNK):
            one, other = before[start : start + CHUNK], after[start : start + CHUNK]
            np.subtract(other, one, out=one)
            change += dot_of(one)
            size += dot_of(other)
    return change, size


def _subtract(old: Sequence[Tensor], new: Sequence[Tensor]) -> None:
    if old:
        with torch.no_grad():
            torch._foreach_sub_(list(old), list(new))
