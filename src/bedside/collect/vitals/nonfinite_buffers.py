"""Buffers that hold a NaN or an infinity: running statistics that one bad batch went through.

A loop that skips steps whose loss is not finite keeps its weights clean, but the forward has been through BatchNorm by
then, and its running mean stays NaN for ever; only evaluations show it. Looked at on sampled steps, and told once for
each buffer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.run import Event

MAX_ELEMENTS = 1_000_000  # numbers in a buffer: what is larger is a table (positions, masks), not statistics


class NonfiniteBuffers(Collector):
    """Looks whether the sum of each floating-point buffer is finite."""

    name = "buffers"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._waiting: list[tuple[int, list[str], PendingValue]] = []
        self._reported: set[str] = set()

    def detach(self, step: int) -> None:
        named = {plain_name(name): buffer for name, buffer in self.model.named_buffers() if _counts(buffer)}
        if named:
            by_device: dict[torch.device, list[str]] = {}
            for name, buffer in named.items():
                by_device.setdefault(buffer.device, []).append(name)
            for names in by_device.values():
                sums = torch.stack([named[name].detach().double().sum() for name in names])
                self._waiting.append((step, names, self.queue.put((~sums.isfinite()).double())))

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, names, pending in waiting:
            bad = [name for name, is_bad in zip(names, pending.numbers, strict=True) if is_bad]
            new = [name for name in bad if name not in self._reported]
            self._reported.update(new)
            if new:
                yield Event(step, "nonfinite_buffers", {"names": new}, time.time())


def _counts(buffer: Tensor) -> bool:
    """Masks hold minus infinity on purpose; statistics are small and begin finite."""
    return buffer.is_floating_point() and 0 < buffer.numel() <= MAX_ELEMENTS and buffer.dim() <= 1
