"""Layers whose weights all start at one value: their units are alike, and get the same gradients.

Zeros are common where a branch should start without effect (the last layer of a residual block, an adapter), and the
layers around them make their gradients differ. So they count only where every layer of the model starts at zero, and
one of them can feed another: several heads beside each other may well start so.
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
        self._layers: dict[str, bool] = {}  # by name, whether it has units that could be alike
        self._chained = False  # whether one of the layers can feed another
        self._ranges: PendingValue | None = None

    def step_begins(self, optimizer: Any, closure: bool) -> None:
        if self._looked:
            return
        self._looked = True
        layers = {name: module for name, module in self.model.named_modules() if has_weights(module)}
        if layers and self.context.step == 0:
            self._layers = {plain_name(name): has_units(module) for name, module in layers.items()}
            self._chained = chained(layers.values())
            weights = [stored(module, "weight") for module in layers.values()]
            ranges = [torch.stack(each.detach().aminmax()).double() for each in weights]
            self._ranges = self.queue.put(torch.stack([each.to(ranges[0].device) for each in ranges]))

    def events(self) -> Iterable[Event]:
        if self._ranges is None:
            return
        (numbers, self._ranges), layers = (self._ranges.numbers.reshape(-1, 2), None), self._layers
        alike = {name: float(low) for name, (low, high) in zip(layers, numbers, strict=True) if low == high}
        all_zero = self._chained and len(alike) == len(layers) and not any(alike.values())
        named = {name: value for name, value in alike.items() if all_zero or (value != 0 and layers[name])}
        if named:
            yield Event(0, "constant_weights", {"layers": named, "all_zero": all_zero}, time.time())


def chained(layers: Iterable[nn.Module]) -> bool:
    """Whether the units of a layer can be what a later one gets; heads beside each other get more than the other puts
    out.

    >>> chained([nn.Linear(8, 4), nn.Linear(4, 3)]), chained([nn.Linear(8, 4), nn.Linear(8, 3)])
    (True, False)
    """
    units: set[int] = set()
    channels: set[int] = set()  # of convolutions, which may be flattened
    for layer in layers:
        weight = stored(layer, "weight")
        gets = weight.shape[1]
        if gets in units or (isinstance(layer, nn.Linear) and any(gets % each == 0 for each in channels)):
            return True
        if len(weight) > 1:
            units.add(len(weight))
            if isinstance(layer, _ConvNd):
                channels.add(len(weight))
    return False


def has_weights(module: nn.Module) -> bool:
    """Whether it is a layer with weights of its own that are trained, and all here."""
    weight = stored(module, "weight")
    if not isinstance(module, nn.Linear | _ConvNd) or not isinstance(weight, torch.Tensor):
        return False
    whole = weight.layout is torch.strided and not hasattr(weight, "full_tensor")  # not sharded
    return (
        whole and weight.is_floating_point() and weight.element_size() >= 2 and weight.requires_grad and len(weight) > 0
    )


def has_units(module: nn.Module) -> bool:
    """Whether its weights are a table of units and what each of them gets, both more than one."""
    weight = stored(module, "weight")
    return min(len(weight), weight[0].numel()) > 1
