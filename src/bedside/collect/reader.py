"""Reads the gradients before a step and what it changed after it: squared norms, one per parameter."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from bedside.collect.moved import Moved
from bedside.collect.squares import Floats, Gauge

Squares = Tensor | Floats  # an array where the numbers are at hand, otherwise still on the device


class Reader:
    """For parameters that one optimizer steps. Buffers are made when they are first needed."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = parameters
        self._gauge: Gauge | None = None
        self._moved: Moved | None = None
        self._next = -1  # the step before which the weights are those that were measured last

    def gradients(self) -> tuple[Squares, tuple[int, ...]]:
        """The squares, and which parameters have no gradient."""
        if self._gauge is None:
            self._gauge = Gauge(self._parameters)
        gradients = [p.grad for p in self._parameters]
        absent = tuple(i for i, each in enumerate(gradients) if each is None)
        return self._gauge.squares(gradients), absent

    def remember(self, step: int) -> None:
        """Before this step."""
        if self._moved is None:
            self._moved = Moved(self._parameters)
        self._moved.remember(self._parameters, fresh=step == self._next)

    def moves(self, step: int) -> tuple[Squares, Squares] | None:
        """After this step: of what it changed, and of the weights, if they had been remembered."""
        self._next = step + 1
        return None if self._moved is None else self._moved.measure(self._parameters)
