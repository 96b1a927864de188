"""How large the weights were before the first step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.model.shards import is_sharded
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.run import Event


class Beginning(Collector):
    """Records `initial_param_norm`, once."""

    name = "beginning"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._norm: PendingValue | None = None
        self._asked = context.step > 0  # a resumed run began long ago

    def step_begins(self, optimizer: Any, closure: bool) -> None:
        if self._asked:
            return
        self._asked = True
        weights = [p.detach() for p in self.model.parameters() if _holds_numbers(p)]
        sharded = any(map(is_sharded, weights))  # this rank has a part of them only
        if weights and not sharded and self.context.step == 0:
            norms = [norm.double().to(weights[0].device) for norm in torch._foreach_norm(weights)]
            self._norm = self.queue.put(torch.stack(norms).square().sum().sqrt())

    def events(self) -> Iterable[Event]:
        if self._norm is not None:
            self.context.facts["initial_param_norm"] = self._norm.number
            self._norm = None
        return ()


def _holds_numbers(parameter: Tensor) -> bool:
    """Some parts of a model may be on the `meta` device, where there are shapes alone."""
    return parameter.is_floating_point() and parameter.layout is torch.strided and parameter.device.type != "meta"
