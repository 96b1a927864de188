"""The run as rules see it while it is trained: bounded memory, whatever its length.

What thinning does to a rule: the first 32 readings of every series and at least the newest 512 are exact.
Readings in between are means over blocks of equal length at the block's middle step, so an older spike is
lower and wider than it was, old noise is smaller, and an onset there is dated to half a block. A block with a
NaN or an infinity in it is non-finite, and the first such step of a series stays exact. A rule that asks for
the recent past, the very start, or a trend sees what the full record shows; one that counts old events does
not, and should judge the record on disk. Every series has at most 1,504 points, so judging a growing run
costs the same at step one million as at step two thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.record.downsampled import Thinned
from bedside.record.joined_series import joined
from bedside.record.run import Event, Key, Parameter, Run
from bedside.record.series import Series, Steps, Values

FIRST_EVENTS = 100  # what happened at the start is kept for good,
LAST_EVENTS = 900  # and of the rest the newest: a loss scaler may report an event every other step


class GrowingRun:
    """Takes what the store takes, and gives a Run at any time. A series takes 12 KB, however long it gets.

    >>> growing = GrowingRun("runs/a")
    >>> growing.append([("loss", ""), ("lr", "")], [0, 1, 2], np.array([[3.0, 0.1], [2.0, 0.1], [1.0, 0.1]]))
    >>> growing.run().loss.values.tolist()
    [3.0, 2.0, 1.0]
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.parameters: Sequence[Parameter] = ()
        self.config: Mapping[str, Any] = {}
        self.environment: Mapping[str, Any] = {}
        self._sets: dict[tuple[Key, ...], Thinned] = {}
        self._sparse: dict[Key, Thinned] = {}
        self._places: dict[Key, list[tuple[Thinned, int]]] = {}  # where a series is, in the order it was met
        self._events: list[Event] = []

    def append(self, columns: Sequence[Key], steps: Sequence[int] | Steps, values: NDArray[np.float64]) -> None:
        """One row a step of a metric set; `values` is (steps, columns), with MISSING where nothing was read."""
        keys = tuple(columns)
        table = self._sets.get(keys)
        if table is None:
            table = self._sets[keys] = Thinned(len(keys))
            for column, key in enumerate(keys):
                self._places.setdefault(key, []).append((table, column))
        table.append(steps, values)

    def has_rows(self, key: Key) -> bool:
        """Whether a series comes in rows of a metric set, and not number by number."""
        return any(key in columns for columns in self._sets)

    def metric(self, step: int, vital: str, value: float, owner: str = "") -> None:
        """One value that comes now and then; the last one of a step counts."""
        key = (vital, owner)
        if key not in self._sparse:
            self._sparse[key] = Thinned(1)
            self._places.setdefault(key, []).append((self._sparse[key], 0))
        self._sparse[key].append([step], np.array([[value]]))

    def event(self, event: Event) -> None:
        self._events.append(event)
        if len(self._events) > FIRST_EVENTS + LAST_EVENTS:
            del self._events[FIRST_EVENTS]

    def run(self) -> Run:
        """The run so far. Series are cut out when a rule asks for them: use it before more is appended."""
        seen = {id(table): table.seen.tolist() for table in (*self._sets.values(), *self._sparse.values())}
        return Run(
            self.name,
            keys=[key for key, places in self._places.items() if any(seen[id(table)][at] for table, at in places)],
            load=self._load,
            events=self._events,
            parameters=self.parameters,
            config=self.config,
            environment=self.environment,
        )

    def _load(self, keys: Sequence[Key]) -> Iterable[Series]:
        wanted: dict[int, list[tuple[Key, int]]] = {}  # by table, so that all columns of one are cut out together
        tables: dict[int, Thinned] = {}
        for key in keys:
            for table, column in self._places[key]:
                tables[id(table)] = table
                wanted.setdefault(id(table), []).append((key, column))
        parts: dict[Key, list[tuple[Steps, Values]]] = {key: [] for key in keys}
        for name, cut in wanted.items():
            series = tables[name].columns([column for _, column in cut])
            for (key, _), part in zip(cut, series, strict=True):
                parts[key].append(part)
        return [Series(vital, owner, *joined(parts[vital, owner])) for vital, owner in keys]
