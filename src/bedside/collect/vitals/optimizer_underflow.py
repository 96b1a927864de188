"""Updates that the weights could not hold, and second moments that are zero though the gradient is not.

A step smaller than half the gap between two neighbouring numbers is rounded away; analytic monitors still report it as
made. Here a few elements of every parameter are compared before and after the step, bit by bit: those that had a
gradient and did not change were swallowed. And where an optimizer keeps a second moment, those whose square underflowed
to zero, so that the update is a division by epsilon alone.

Weights stored in float32 are in half precision all the same where somebody rounds them after every step: before it all
of them end in zero bits. Then those were swallowed that are to be rounded back to what they were.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.elements import Elements
from bedside.record.missing import MISSING
from bedside.record.run import Event, Key

VITALS = ("swallowed_fraction", "underflowed_fraction")
ROUNDED = (("bfloat16", 16), ("float16", 13))  # the zero bits at which a float32 ends that has been such a number
TIMES = 3  # readings in a row: weights that were loaded from half precision begin like this, and do not stay so
MIN_ELEMENTS = 64  # looked at: one ends in so many zeros by chance once in eight thousand

# Per parameter of an optimizer: whose it is, whether it has a second moment, and how many elements have a gradient,
# were swallowed, and have a second moment of zero.
Counts = tuple[list[str], list[bool], PendingValue]


class Numerics(Collector):
    """Compares weights before and after the step, on sampled steps."""

    name = "numerics"
    vitals = VITALS

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._before: tuple[Any, Any] | None = None  # which elements have a gradient, and what they were
        self._owners: tuple[Elements, list[str]] | None = None  # of whose parameters, and whose they are
        self._counts: list[Counts] = []
        self._waiting: list[tuple[int, list[Counts]]] = []
        self._rounded: list[tuple[int, PendingValue]] = []  # at each reading: for each type, whether all have been one
        self._in_a_row = [0] * len(ROUNDED)
        self._reported = False

    def attach(self, step: int) -> None:
        self._due = True

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        self._before = None
        if not self._due or closure:  # inside a closure the gradient is not known before the step
            return
        elements = self._of(optimizer)
        if elements.tensors:
            moved = elements.gradients(self.context.step) != 0
            self._before = (moved, elements.pick_stable(elements.tensors, "before"))

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        before, self._before = self._before, None
        if before is None:
            return
        (moved, old), elements = before, self._of(optimizer)
        new = elements.pick_stable(elements.tensors, "after")
        swallowed = (new == old) & moved
        if len(old) >= MIN_ELEMENTS and all(each.dtype is torch.float32 for each in elements.tensors):
            swallowed = self._with_rounded(swallowed, old, new, moved)
        fitting, zero = self._without_second_moment(optimizer, elements)
        counts = elements.count(moved, swallowed, swallowed if zero is None else zero & moved)
        self._counts.append((self._owners_of(elements), fitting, self.queue.put(counts)))

    def _with_rounded(self, swallowed: Any, old: Any, new: Any, moved: Any) -> Any:
        """With those that will be swallowed by rounding, where all weights have been rounded before this step."""
        before, after = (torch.as_tensor(each) for each in (old, new))
        flags = [ends_in_zeros(before, bits).all() & ~ends_in_zeros(after, bits).all() for _, bits in ROUNDED]
        together = torch.stack(flags)
        self._rounded.append((self.context.step, self.queue.put(together.double())))
        if before.is_cpu and not together.numpy().any():
            return swallowed
        for flag, (name, _) in zip(flags, ROUNDED, strict=True):
            back = flag & (after.to(getattr(torch, name)).float() == before)
            swallowed = swallowed | ((back.numpy() if isinstance(swallowed, np.ndarray) else back) & moved)
        return swallowed

    def events(self) -> Iterable[Event]:
        rounded, self._rounded = self._rounded, []
        for step, pending in rounded:
            for place, (name, _) in enumerate(ROUNDED):
                self._in_a_row[place] = self._in_a_row[place] + 1 if pending.numbers[place] else 0
                if self._in_a_row[place] == TIMES and not self._reported:
                    self._reported = True
                    yield Event(step, "rounded_weights", {"type": name}, time.time())

    def _without_second_moment(self, optimizer: Optimizer, elements: Elements) -> tuple[list[bool], Any]:
        """Which parameters have one that is shaped like them, and which elements of those are zero."""
        state = optimizer.state
        seconds = [held.get("exp_avg_sq") if (held := state.get(p)) else None for p in elements.tensors]
        fitting = [s is not None and s.shape == p.shape for s, p in zip(seconds, elements.tensors, strict=True)]
        if all(fitting):
            return fitting, elements.pick_stable(seconds, "second moments") == 0
        if any(fitting):
            kept = [second if fits else None for second, fits in zip(seconds, fitting, strict=True)]
            return fitting, elements.pick(kept, "second moments") == 0
        return fitting, None

    def _owners_of(self, elements: Elements) -> list[str]:
        if self._owners is None or self._owners[0] is not elements:
            index, home = self.context.layout.index, self.context.layout.home
            self._owners = (elements, [home[index[id(p)]] for p in elements.tensors])
        return self._owners[1]

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
            parts = [
                [_with_missing(fitting, pending.numbers) for _, fitting, pending in counts] for _, counts in samples
            ]
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
        return self.context.elements(optimizer, self.context.layout)


def ends_in_zeros(numbers: torch.Tensor, bits: int) -> torch.Tensor:
    """Which float32 numbers end in so many zero bits.

    >>> ends_in_zeros(torch.tensor([0.1, 1.5, 0.0]), 16).tolist()
    [False, True, True]
    """
    return (numbers.contiguous().view(torch.int32) & ((1 << bits) - 1)) == 0


def _with_missing(fitting: list[bool], numbers: np.ndarray) -> np.ndarray:
    counts = numbers.reshape(3, -1).copy()
    counts[2, ~np.asarray(fitting)] = MISSING
    return counts
