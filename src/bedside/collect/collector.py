"""A collector reads one kind of vital on sampled steps; between them it leaves no hook behind.

The monitor calls, for every step at which the collector is due::

    attach(step)     before the first forward of the step: put hooks on, replace functions
    (forward, backward, optimizer.step)
    detach(step)     after the optimizer's step: take everything off, put what was heard on the freight
    rows()           some steps later, when the freight has been unloaded: the numbers, as rows of a metric set

What is heard stays on the device (`freight.put` gives a Ticket, whose `numbers` are there later), so that no
collector ever waits for one. A collector that raises is switched off with one warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bedside.record.run import Event, Key

if TYPE_CHECKING:
    from torch import nn

    from bedside.collect.freight import Freight
    from bedside.collect.layout import Layout


@dataclass(frozen=True)
class RowSet:
    """Rows for the record: one line a step, one column a (vital, owner), MISSING where nothing was read."""

    name: str
    columns: Sequence[Key]
    steps: Sequence[int]
    values: NDArray[np.float64]
    dtype: str = "f4"


class Collector:
    """What every collector is; each overrides what it needs."""

    name = ""  # the vital group: what cadence, cost and the report call it

    def __init__(self, model: nn.Module, freight: Freight) -> None:
        self.model = model
        self.freight = freight
        self.layout: Layout | None = None  # set by the monitor, anew when the model's parameters change

    def attach(self, step: int) -> None:
        """A sampled step begins."""

    def detach(self, step: int) -> None:
        """The step is over (or watching is): leave nothing behind."""

    def rows(self) -> Iterable[RowSet]:
        """What has arrived since the last call."""
        return ()

    def events(self) -> Iterable[Event]:
        """What happened once, since the last call."""
        return ()
