"""How much of BatchNorm's running averages is still their initial value when they are first used.

After n batches, (1 - momentum)^n of a running average is its initial value: mean 0 and variance 1. With the usual 0.1
that is nothing after fifty batches; with a momentum that was meant the other way round it may be all of it. Read at
evaluations, which use these averages, at growing intervals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.run import Event

APART = 1.5  # times as many steps: so much later an evaluation is worth another look


class BatchStatistics(Collector):
    """Counts the batches that fresh running averages have seen when an evaluation uses them."""

    name = "batch statistics"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        norms = [(plain_name(name), each) for name, each in self.model.named_modules() if isinstance(each, _BatchNorm)]
        self._norms = [(name, each) for name, each in norms if each._buffers.get("num_batches_tracked") is not None]
        self._first: Tensor | None = self._batches() if self._norms else None
        self._next = 1.0
        self._waiting: list[tuple[int, list[float], PendingValue]] = []

    def forward_begins(self, forward: Forward) -> None:
        is_evaluation = not forward.training and (forward.validating or not forward.grad)
        if self._first is None or not is_evaluation or self.context.step < self._next:
            return
        self._next = APART * self.context.step
        momenta = [1.0 if each.momentum is None else float(each.momentum) for _, each in self._norms]
        numbers = torch.cat([self._first, self._batches()])
        self._waiting.append((self.context.step, momenta, self.queue.put(numbers)))

    def _batches(self) -> Tensor:
        return torch.stack([each._buffers["num_batches_tracked"].detach().double().cpu() for _, each in self._norms])

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, momenta, pending in waiting:
            before, now = pending.numbers.reshape(2, -1)
            fresh = [
                (float((1 - momentum) ** seen), name, momentum, int(seen))
                for (name, _), momentum, begun, seen in zip(self._norms, momenta, before, now, strict=True)
                if not begun and seen and 0 <= momentum <= 1  # averages that were loaded are not fresh
            ]
            if fresh:
                share, _, momentum, batches = max(fresh)
                names = [name for each, name, _, _ in fresh if each == share]
                facts = {"where": names, "initial_share": share, "momentum": momentum, "batches": batches}
                yield Event(step, "batch_statistics", facts, time.time())
