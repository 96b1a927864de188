"""Histograms of weights, gradients and outputs, where they are asked for: `watch(..., histograms=True)`.

The sign and the exponent of a float32 are its nine highest bits, so a histogram on a logarithmic scale is one shift and
one count (`record/histograms.py` says what the bins are). Of large tensors a part is counted, spread over all of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.module_outputs import ModuleCalls
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.squared_norms import flat
from bedside.collect.reading.subsample import sample
from bedside.errors import pass_on_interrupts
from bedside.record.histograms import KIND, Histogram, ordered
from bedside.record.run import Event

MIN_INTERVAL = 100  # steps between two, at least: they show what changes slowly
ELEMENTS = 1 << 16  # counted per tensor: a share of one in a thousand is then known to a tenth of itself


class Histograms(Collector):
    """Counts every parameter, its gradient and every module's output."""

    name = "histograms"
    min_interval = MIN_INTERVAL

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._turn = 0
        self._calls: ModuleCalls | None = None
        self._names: dict[nn.Module, str] = {}
        self._error: Exception | None = None  # in the middle of a forward
        self._found: dict[str, dict[str, PendingValue]] = {}
        self._waiting: list[tuple[int, dict[str, dict[str, PendingValue]]]] = []

    def attach(self, step: int) -> None:
        self._due = True
        self._turn += 1
        self._found = {"weights": {}, "gradients": {}, "activations": {}}

    def begin_reading(self, forward: Forward) -> bool:
        self._names = {m: plain_name(name) for name, m in self.model.named_modules() if not any(m.children())}
        self._calls = ModuleCalls(self._names, self._returned)
        self._calls.on(forward.module)
        return True

    def end_reading(self) -> None:
        self.end()
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        if self._calls is not None:
            self._calls.off()
            self._calls = None

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        if self._due and not closure:
            layout = self.context.layout
            for name, parameter in zip(layout.names, layout.parameters, strict=True):
                self._count("gradients", name, parameter.grad)

    def detach(self, step: int) -> None:
        if self._due:
            self._due = False
            layout = self.context.layout
            for name, parameter in zip(layout.names, layout.parameters, strict=True):
                self._count("weights", name, parameter)
            self._waiting.append((step, self._found))
            self._found = {}

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, found in waiting:
            packed = {of: {owner: _packed(pending) for owner, pending in each.items()} for of, each in found.items()}
            yield Event(step, KIND, packed, time.time())

    def _returned(self, module: nn.Module, output: Any) -> None:
        name = self._names.get(module)
        if name and isinstance(output, Tensor) and name not in self._found["activations"]:
            began = time.perf_counter()
            try:
                self._count("activations", name, output)
            except Exception as error:
                pass_on_interrupts(error)
                self._error = error
            self.hook_seconds += time.perf_counter() - began

    def _count(self, of: str, owner: str, tensor: Tensor | None) -> None:
        if tensor is None or not tensor.is_floating_point() or not tensor.numel():
            return
        with torch.no_grad():
            values = sample(flat(tensor), self._turn, ELEMENTS).float().contiguous()
            bits = (values.view(torch.int32) >> 23) & 511
            counts = torch.zeros(512, dtype=torch.float64, device=values.device)
            if values.is_cpu:
                counts += torch.bincount(bits, minlength=512)
            else:  # where bincount would wait for the device
                counts.index_add_(0, bits, torch.ones_like(values, dtype=torch.float64))
            self._found[of][owner] = self.queue.put(counts)


def _packed(pending: PendingValue) -> list[int]:
    return Histogram(ordered(pending.numbers.astype(np.int64))).packed()
