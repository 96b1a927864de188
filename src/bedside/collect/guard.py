"""Says whether parameters are still as they were noted, without reading them all."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from bedside.collect.places import Places
from bedside.collect.squares import Rows

LOOKED_AT = 2  # tensors, others each time: who changes all weights is noticed at once, who clamps one, soon
STRIDE = 7919  # from one number that is compared to the next: a prime, so that all places of a tensor get their turn


class Guard:
    """Most changes show in a tensor's version; what is done through `.data` does not, so its place and one number are
    compared as well."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._turn = 0
        self._noted: list[tuple[int, int, int]] = []  # which, its address and version
        self._row: Rows | None = None  # of the first of them,
        self._spot = 0
        self._number = 0.0  # and what was there

    def note(self, parameters: Sequence[Tensor]) -> None:
        """As they are now, and where they were just found."""
        self._turn += 1
        count, addresses = len(parameters), self._places.addresses
        first = self._turn * LOOKED_AT % count
        which = [(first + i) % count for i in range(min(LOOKED_AT, count))]
        self._noted = [(i, addresses[i], parameters[i]._version) for i in which]
        self._row = row = self._places.row(parameters, first)
        if row is not None and row.size:
            self._spot = self._turn * STRIDE % row.size
            self._number = row.item(self._spot)

    def unchanged(self, parameters: Sequence[Tensor]) -> bool:
        for i, address, version in self._noted:
            if parameters[i]._version != version or parameters[i].data_ptr() != address:
                return False
        if self._row is None or not self._row.size:
            return True
        now = self._row.item(self._spot)
        return now == self._number or now != now
