"""Updates of a large model, part by part: a copy of all its weights would cost four bytes per parameter.

All parameters, one after the other, are cut into parts of equal size. At each step at which updates are read, one part
is remembered before the step and measured after it: half a byte per parameter. After so many readings every parameter
has been measured exactly once, and the next round begins.

What a row says: the update of a module is written at the step at which its last part was measured, and adds up parts
from the readings of that round, each exact at its own step. The gradient beside it (for the effective learning rate)
and the weights are those of the same parts at the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.model.parameter_layout import Layout
from bedside.collect.reading.squared_norms import Floats, SquaredNorms, flat, gather, square

PARTS = 10  # 4 bytes per parameter divided by this, and the rest of what is kept, is half a byte
WHOLE_UP_TO = 4_000_000  # parameters: a copy of 16 MB is nothing beside the rest of a training

Slice = tuple[int, int, int]  # which tensor, from where, to where


def divided(sizes: Sequence[int], parts: int = PARTS) -> list[list[Slice]]:
    """Tensors of these sizes in parts of equal size, in order.

    >>> divided([10, 2, 4], 4)
    [[(0, 0, 4)], [(0, 4, 8)], [(0, 8, 10), (1, 0, 2)], [(2, 0, 4)]]
    """
    ends = np.cumsum(sizes)
    borders = [int(ends[-1]) * part // parts for part in range(parts + 1)]
    found: list[list[Slice]] = [[] for _ in range(parts)]
    for tensor, (size, end) in enumerate(zip(sizes, ends.tolist(), strict=True)):
        begin = end - size
        for part in range(parts):
            start, stop = max(begin, borders[part]), min(end, borders[part + 1])
            if start < stop:
                found[part].append((tensor, start - begin, stop - begin))
    return found


class PartialUpdates:
    """Remembers one part of a list of parameters before a step and measures it after; `last` completes each of them."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parts = divided([flat(p).numel() for p in parameters])
        self.last = np.zeros(len(parameters), np.int64)
        for part, slices in enumerate(self._parts):
            self.last[[tensor for tensor, _, _ in slices]] = part
        self._squared_norms: dict[int, SquaredNorms] = {}
        self._old: list[Tensor] = []

    def places(self, part: int) -> NDArray[np.int64]:
        """Which parameters the part touches."""
        return np.asarray([tensor for tensor, _, _ in self._parts[part]], np.int64)

    def remember(self, parameters: Sequence[Tensor], part: int) -> None:
        views = self._views(parameters, part)
        if part not in self._squared_norms:
            self._squared_norms[part] = SquaredNorms(views)
        self._old = [view.new_empty(view.shape) for view in views]  # given back after the step
        gather(self._old, views)

    def measure(self, parameters: Sequence[Tensor], part: int) -> tuple[Tensor | Floats, ...]:
        """(squared change, squared size, squared gradient) per parameter that the part touches."""
        views, old, squared_norms = self._views(parameters, part), self._old, self._squared_norms[part]
        self._old = []
        size = squared_norms.squares(views)
        for before, after in zip(old, views, strict=True):
            before.sub_(after)
        change = squared_norms.squares(old)
        return change, size, squared_norms.squares(self._gradients(parameters, part))

    def _views(self, tensors: Sequence[Tensor], part: int) -> list[Tensor]:
        return [flat(tensors[i])[start:stop] for i, start, stop in self._parts[part]]

    def _gradients(self, parameters: Sequence[Tensor], part: int) -> list[Tensor | None]:
        found: list[Tensor | None] = []
        for i, start, stop in self._parts[part]:
            gradient = parameters[i].grad
            if gradient is None:
                found.append(None)
            elif gradient.is_sparse:  # its values have no place to be cut at: all of them with the first slice
                found.append(_one_number(gradient, stop - start) if start == 0 else None)
            else:
                found.append(flat(gradient)[start:stop])
        return found


class Round:
    """Adds up the parts of one round, until the owners are complete."""

    def __init__(self, layout: Layout, last: NDArray[np.int64]) -> None:
        self.layout = layout
        self.expected = 0
        self.sums = np.zeros((3, len(layout)))  # of squares: updates, weights, gradients
        self._owner_last = layout.most(last)

    def add(self, places: NDArray[np.int64], *squares: NDArray[np.float64]) -> None:
        for total, values in zip(self.sums, squares, strict=True):
            total[places] += values

    def complete(self, part: int) -> NDArray[np.bool_]:
        """Which owners had their last part measured now."""
        return np.asarray(self._owner_last == part)


def _one_number(gradient: Tensor, size: int) -> Tensor:
    """A tensor of that size with the norm of a sparse gradient."""
    whole = flat(gradient).new_zeros(size)
    whole[0] = square(gradient) ** 0.5
    return whole
