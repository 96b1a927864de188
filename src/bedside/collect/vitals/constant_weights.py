"""Layers whose weights all start at one value: their units are alike, and get the same gradients. Zeros are left out:
they are common where a branch should start without effect (the last layer of a residual block, an adapter), and the
layers around them make their gradients differ.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.stored import stored
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.run import Event


class ConstantWeights(Collector):
    """Looks at the weights once, before the first step."""

    name = "constant weights"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._looked = context.step > 0  # a resumed run began long ago
        self._names: list[str] = []
        self._ranges: PendingValue | None = None

    def step_begins(self, optimizer: Any, closure: bool) -> None:
        if self._looked:
            return
        self._looked = True
        layers = {name: stored(module, "weight") for name, module in self.model.named_modules() if has_units(module)}
        if layers and self.context.step == 0:
            self._names = [plain_name(name) for name in layers]
            ranges = [torch.stack(each.detach().aminmax()).double() for each in layers.values()]
            self._ranges = self.queue.put(torch.stack([each.to(ranges[0].device) for each in ranges]))

    def events(self) -> Iterable[Event]:
        if self._ranges is None:
            return
        (numbers, self._ranges), names = (self._ranges.numbers.reshape(-1, 2), None), self._names
        alike = {name: float(low) for name, (low, high) in zip(names, numbers, strict=True) if low == high != 0}
        if alike:
            yield Event(0, "constant_weights", {"layers": alike}, time.time())


def has_units(module: nn.Module) -> bool:
    """Whether its weights are a table of units and what each of them gets, both more than one."""
    weight = stored(module, "weight")
    if not isinstance(module, nn.Linear | _ConvNd) or not isinstance(weight, torch.Tensor):
        return False
    whole = weight.layout is torch.strided and not hasattr(weight, "full_tensor")  # not sharded
    plain = weight.is_floating_point() and weight.element_size() >= 2 and weight.requires_grad
    return whole and plain and min(len(weight), weight[0].numel() if len(weight) else 0) > 1
