"""Optimizers that a trainer rebuilds: for another stage, when layers are unfrozen, or at every epoch. The old one is
never stepped again, so its hooks never fire again. So every new optimizer with parameters of the model is remembered.
At its first step it replaces the watched one that held most of its parameters, unless that one goes on stepping too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.optim import Optimizer

Adopt = Callable[[Optimizer, Optimizer], None]  # the old one and the new one
Begin = Callable[[Optimizer, Any, Any], None]


class RebuiltOptimizers:
    """Waits for the first step of optimizers that were made after watching began."""

    def __init__(self, optimizers: Sequence[Optimizer], adopt: Adopt, begin: Begin) -> None:
        self._optimizers = optimizers  # those that are watched, now
        self._adopt = adopt
        self._begin = begin
        self._stepped: set[int] = set()  # watched ones that stepped since the last new one was made
        self._made: list[tuple[Optimizer, Any]] = []  # and the handles of their hooks

    def made(self, optimizer: Optimizer) -> bool:
        """Whether it may take the place of one that is watched: it holds parameters of that one."""
        if self._replaced_by(optimizer) is None:
            return False
        self._stepped.clear()
        self._made.append((optimizer, optimizer.register_step_pre_hook(self._step_begins)))
        return True

    def stepped(self, optimizer: Optimizer) -> None:
        """A watched optimizer has stepped, at a step that is not on the fast path."""
        self._stepped.add(id(optimizer))

    def close(self) -> None:
        while self._made:
            self._made.pop()[1].remove()

    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._is_watched(optimizer):  # it was taken over; the hook goes when watching ends
            return
        old = self._replaced_by(optimizer)
        if old is not None and id(old) not in self._stepped:
            self._adopt(old, optimizer)
            self._begin(optimizer, args, kwargs)

    def _is_watched(self, optimizer: Optimizer) -> bool:
        return any(each is optimizer for each in self._optimizers)

    def _replaced_by(self, optimizer: Optimizer) -> Optimizer | None:
        """The watched one that shares most parameters with it."""
        new = held(optimizer)
        shared = [len(new & held(each)) for each in self._optimizers]
        return self._optimizers[shared.index(max(shared))] if any(shared) else None


def held(optimizer: Optimizer) -> set[int]:
    return {id(p) for group in optimizer.param_groups for p in group["params"]}
