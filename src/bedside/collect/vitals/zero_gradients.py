"""Single parameters whose gradient is exactly zero, step after step, beside others of the same module that have one.

Recurrent weights of a cell whose state is never carried on, a gate that multiplies by zero: the module as a whole looks
alive, because its other parameters are. The largest element of every gradient is kept on sampled steps; what was never
anything but zero is notified when it has been looked at often enough, and taken back should it wake up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.model.parameter_layout import Layout, plain_name
from bedside.collect.model.shards import is_sharded
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.squared_norms import SquaredNorms
from bedside.record.run import Event

REPORT_STEP = (20, 50, 200)  # looks: zero by chance, or until a branch that begins at zero has opened, is soon over


class ZeroGradients(Collector):
    """Keeps, for every parameter, the largest gradient element it ever had when somebody looked."""

    name = "zero gradients"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._held: tuple[Layout, list[int], list[tuple[str, Tensor]]] | None = None  # whose parameters, and which
        self._names: list[str] = []
        self._norms: SquaredNorms | None = None  # reads these parameters' gradients
        self._largest: Tensor | None = None
        self._looked = 0
        self._waiting: list[tuple[int, int, list[str], PendingValue]] = []
        self._reported: list[str] = []

    def attach(self, step: int) -> None:
        self._due = self._looked < REPORT_STEP[-1]

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        if (
            not self._due or closure or len(self.context.optimizers) > 1
        ):  # optimizers that take turns leave zeros behind
            return
        self._due = False
        named = [(name, parameter.grad) for name, parameter in self._held_by(optimizer)]
        # A part of a gradient that is zero says nothing about the rest, which other ranks hold.
        whole = [(name, grad) for name, grad in named if grad is not None and not is_sharded(grad)]
        grads = [(name, grad) for name, grad in whole if not grad.is_sparse and grad.numel()]
        if not grads or len({grad.device for _, grad in grads}) > 1:
            return
        names = [name for name, _ in grads]
        new = names != self._names or self._norms is None
        if new:
            self._norms = SquaredNorms([grad for _, grad in grads])
        now = self._largest_of([grad.detach() for _, grad in grads])
        if new or self._largest is None:
            self._names, self._largest, self._looked = names, now, 0
        else:
            self._largest = torch.maximum(self._largest, now)
        self._looked += 1
        if self._looked in REPORT_STEP:
            pending = self.queue.put((self._largest == 0).double())
            self._waiting.append((self.context.step, self._looked, self._names, pending))

    def _largest_of(self, grads: list[Tensor]) -> Tensor:
        if self._norms is not None and self._norms.on_cpu:
            return torch.from_numpy(self._norms.largest(grads))
        return torch.stack([each.double() for each in torch._foreach_norm(grads, ord=torch.inf)])

    def _held_by(self, optimizer: Optimizer) -> list[tuple[str, Tensor]]:
        """The trainable parameters that it steps, by name."""
        layout, sizes = self.context.layout, [len(group["params"]) for group in optimizer.param_groups]
        if self._held is None or self._held[0] is not layout or self._held[1] != sizes:
            held = {id(p) for group in optimizer.param_groups for p in group["params"]}
            named = zip(layout.names, layout.parameters, strict=True)
            self._held = (layout, sizes, [(name, p) for name, p in named if id(p) in held])
        return self._held[2]

    def detach(self, step: int) -> None:
        self._due = False

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        # A bias may cancel by right: in front of a normalisation, at the end of a critic that compares two means.
        matrices = {plain_name(name) for name, p in self.model.named_parameters() if p.dim() > 1} if waiting else set()
        for step, looked, names, pending in waiting:
            zero = [name for name, is_zero in zip(names, pending.numbers, strict=True) if is_zero]
            alive = {
                name.rpartition(".")[0] for name, is_zero in zip(names, pending.numbers, strict=True) if not is_zero
            }
            beside = [name for name in zero if name.rpartition(".")[0] in alive and name in matrices]
            if beside != self._reported:
                self._reported = beside
                yield Event(step, "zero_gradients", {"names": beside, "looks": looked}, time.time())
