"""Reads the gradients of a step and what it changed: squared norms, one per parameter. Gradients are read as the
optimizer sees them, so before its step. An optimizer that does not change them leaves them there, and then everything
is read at once after the step: one call of native code instead of two, and torch has already made the Python objects
for the gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer

from bedside.collect.model.shards import is_sharded, local, unsummed
from bedside.collect.reading.squared_norms import Floats, SquaredNorms
from bedside.collect.reading.updates import Moved
from bedside.record.missing import MISSING

CHECKED_STEPS = 5  # steps at which gradients that should have been left alone are read both before and after

Squares: TypeAlias = Tensor | Floats  # an array where the numbers are on the CPU, otherwise still on the device


class Reading(NamedTuple):
    """Squared norms per parameter, of one step."""

    gradients: Squares
    absent: tuple[int, ...]  # parameters without a gradient
    moves: tuple[Squares, Squares] | None  # updates and weights, where they are read


class ReadAtOnce:
    """The same of a step that was read by one call: rows of updates, weights and gradients, taken apart when somebody
    asks."""

    __slots__ = ("_found",)
    absent = ()

    def __init__(self, found: Floats) -> None:
        self._found = found

    @property
    def gradients(self) -> Floats:
        return self._found[2]

    @property
    def moves(self) -> tuple[Floats, Floats]:
        return self._found[0], self._found[1]


class Reader:
    """For parameters that one optimizer steps. Buffers are made when they are first needed."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = parameters
        self._sharded = any(map(is_sharded, parameters))
        self._squared_norms: SquaredNorms | None = None
        self._moved: Moved | None = None
        self._next = -1  # the step before which the weights are those that were measured last
        self._updates = False
        self._left_alone = False
        self._checks = CHECKED_STEPS  # still to be made

    def expect(self, *, updates: bool, left_alone: bool) -> None:
        """From now on steps are read by `before` and `after`: with updates or without, by an optimizer that leaves the
        gradients alone or may not."""
        self._updates = updates
        self._left_alone = left_alone and self._checks >= 0

    def before(self, step: int) -> None:
        if not self._left_alone or self._checks:
            self._met = self.gradients()
        if self._updates:
            self.remember(step)

    def after(self, step: int) -> Reading | ReadAtOnce:
        if not self._left_alone or self._checks:
            met = self._met
            if self._left_alone:
                self._check(met)
            return Reading(*met, self.moves(step) if self._updates else None)
        if self._updates and self._moved is not None and not self._sharded:
            found = self._moved.measure_with_gradients(self._parameters)
            if found is not None:
                self._next = step + 1
                return ReadAtOnce(found)
        return Reading(*self.gradients(), self.moves(step) if self._updates else None)

    def _check(self, met: tuple[Squares, tuple[int, ...]]) -> None:
        """Somebody's hook may have cleared them, whatever the optimizer does."""
        squares, absent = self.gradients()
        arrays = isinstance(squares, np.ndarray) and isinstance(met[0], np.ndarray)
        alike = absent == met[1] and arrays and squares.tobytes() == met[0].tobytes()
        self._checks = self._checks - 1 if alike else -1
        self._left_alone = alike

    def gradients(self) -> tuple[Squares, tuple[int, ...]]:
        """The squares, and which parameters have no gradient."""
        gradients = [p.grad for p in self._parameters]
        absent = tuple([i for i, each in enumerate(gradients) if each is None])
        squares = self._norms.squares(gradients)
        if self._sharded and (unknown := [i for i, each in enumerate(gradients) if unsummed(each)]):
            squares[unknown] = MISSING  # and so are all sums that one of them is part of
        return squares, absent

    def largest(self) -> Floats | None:
        """The largest absolute element of every gradient, where they can be read on the CPU."""
        return self._norms.largest([p.grad for p in self._parameters]) if self._norms.on_cpu else None

    @property
    def _norms(self) -> SquaredNorms:
        if self._squared_norms is None:
            self._squared_norms = SquaredNorms(self._parameters)
        return self._squared_norms

    def remember(self, step: int) -> None:
        """Before this step."""
        if self._moved is None:
            self._moved = Moved(self._weights(), stay=not self._sharded)
        self._moved.remember(self._weights(), fresh=step == self._next)

    def moves(self, step: int) -> tuple[Squares, Squares] | None:
        """After this step: of what it changed, and of the weights, if they had been remembered."""
        self._next = step + 1
        return None if self._moved is None else self._moved.measure(self._weights())

    def _weights(self) -> Sequence[Tensor]:
        """What this rank holds of the parameters."""
        return [local(each.detach()) for each in self._parameters] if self._sharded else self._parameters


def leaves_gradients_alone(optimizer: Optimizer) -> bool:
    """Whether its step never writes into a gradient: known for these, one by one or fused (read in torch 2.13; with
    `foreach`, SGD adds its momentum there). Nothing is known about derived classes."""
    return type(optimizer) in (SGD, Adam, AdamW) and not any(
        group.get("foreach") or group.get("differentiable") for group in optimizer.param_groups
    )
