"""Column for column of a table: how far from zero its numbers lie, measured in their own spread.

Mean and spread of all columns together look well where every single column says 1.00, 1.03 or 0.97, or where one column
is a thousand times as wide as another. So the mean and the spread of each column of the first few hundred examples are
read, once. A model that begins with a BatchNorm puts that right by itself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.inputs import first_input

ROWS = 256  # examples: their mean is known to a sixteenth of their spread
MAX_COLUMNS = 1024  # of a table; pictures and sequences that were flattened have more, and neighbours that are alike
MAX_BATCHES = 8  # that are kept until there are enough examples


class InputColumns(Collector):
    """Reads the columns of the first batches that are learned from."""

    name = "input columns"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._open = not normalises_first(self.model)
        self._parts: list[Tensor] = []
        self._pending: PendingValue | None = None

    def forward_begins(self, forward: Forward) -> None:
        if not self._open or not forward.grad or forward.validating:
            return
        batch = first_input((forward.args, forward.kwargs))
        if batch is None or batch.dim() != 2 or not batch.is_floating_point() or batch.shape[1] > MAX_COLUMNS:
            self._open = False
            return
        if self._parts and self._parts[0].shape[1] != batch.shape[1]:
            self._open = False
            return
        self._parts.append(batch.detach()[:ROWS].double())
        if sum(map(len, self._parts)) >= ROWS:
            self._pending = self.queue.put(columns_of(torch.cat(self._parts)))
        if self._pending is not None or len(self._parts) >= MAX_BATCHES:
            self._open, self._parts = False, []

    def rows(self) -> Any:
        if self._pending is not None:
            (offset, spread), self._pending = self._pending.numbers.reshape(2, -1), None
            varies = spread > 1e-9 * abs(offset)
            if varies.any():
                away, wide = abs(offset[varies]) / spread[varies], spread[varies]
                facts = {"columns": int(varies.sum()), "away": sorted(away)[len(away) // 2]}
                facts |= {"mean": sorted(offset[varies])[len(away) // 2], "spread": sorted(wide)[len(away) // 2]}
                facts |= {"widest": max(wide)}
                self.context.facts["input_columns"] = {name: float(number) for name, number in facts.items()}
        return ()


def columns_of(table: Tensor) -> Tensor:
    """The mean of each column, and its spread.

    >>> columns_of(torch.tensor([[1.0, 30.0], [3.0, 50.0]])).tolist()
    [[2.0, 40.0], [1.0, 10.0]]
    """
    return torch.stack([table.mean(0), table.std(0, correction=0)])


def normalises_first(model: nn.Module) -> bool:
    """Whether the first layer with weights is a BatchNorm."""
    first = next((each for each in model.modules() if each._parameters), None)
    return isinstance(first, _BatchNorm)
