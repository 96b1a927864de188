"""Buffers that hold a NaN or an infinity: running statistics that one bad batch went through.

A loop that skips steps whose loss is not finite keeps its weights clean, but the forward has been through BatchNorm by
then, and its running mean stays NaN for ever; only evaluations show it. Checked on sampled steps, and reported once for
each buffer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.model.parameter_layout import Layout, plain_name
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.run import Event

MAX_ELEMENTS = 65_536  # numbers in a buffer: what is larger is a table (positions, masks), not statistics


class NonfiniteBuffers(Collector):
    """Looks whether each floating-point buffer is finite. One that begins with infinities holds them on purpose, as
    masks and best scores do; a NaN in it is still one."""

    name = "buffers"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._modules: tuple[Layout, list[tuple[str, nn.Module]]] | None = None  # of which layout, and by name
        self._waiting: list[tuple[int, list[str], PendingValue]] = []
        self._reported: set[str] = set()
        self._infinite_by_right: set[str] | None = None  # once the first look has arrived
        self._look(context.step)

    def detach(self, step: int) -> None:
        self._look(step)

    def _look(self, step: int) -> None:
        named = {
            f"{home}.{name}" if home else name: buffer
            for home, module in self._named_modules()
            for name, buffer in module._buffers.items()
            if buffer is not None and _counts(buffer)
        }
        by_device: dict[torch.device, list[str]] = {}
        for name, buffer in named.items():
            by_device.setdefault(buffer.device, []).append(name)
        for names in by_device.values():
            buffers = [named[name].detach() for name in names]
            nan = torch.stack([buffer.isnan().any() for buffer in buffers])
            infinite = torch.stack([buffer.isinf().any() for buffer in buffers])
            self._waiting.append((step, names, self.queue.put(torch.stack([nan, infinite]).double())))

    def _named_modules(self) -> list[tuple[str, nn.Module]]:
        """Walking through a deep model takes longer than looking at its buffers."""
        layout = self.context.layout
        if self._modules is None or self._modules[0] is not layout:
            self._modules = (layout, [(plain_name(name), module) for name, module in self.model.named_modules()])
        return self._modules[1]

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, names, pending in waiting:
            nan, infinite = pending.numbers.reshape(2, -1) > 0
            if self._infinite_by_right is None:
                self._infinite_by_right = {
                    name for name, is_infinite in zip(names, infinite, strict=True) if is_infinite
                }
            bad = [
                name
                for name, is_nan, is_infinite in zip(names, nan, infinite, strict=True)
                if is_nan or (is_infinite and name not in self._infinite_by_right)
            ]
            new = [name for name in bad if name not in self._reported]
            self._reported.update(new)
            if new:
                yield Event(step, "nonfinite_buffers", {"names": new}, time.time())


def _counts(buffer: Tensor) -> bool:
    return (
        buffer.is_floating_point()
        and not is_lazy(buffer)
        and buffer.layout is torch.strided
        and 0 < buffer.numel() <= MAX_ELEMENTS
    )
