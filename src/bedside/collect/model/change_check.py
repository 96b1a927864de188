"""Says whether parameters are still as they were noted, without reading them all."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from bedside.collect.reading.addresses import Addresses
from bedside.collect.reading.squared_norms import Rows

STRIDE = 7919  # from one number that is compared to the next: a prime, so that all places of a tensor get their turn


class ChangeCheck:
    """Looks at one parameter, another one each time: who changes all weights is noticed at once, who clamps one, soon.
    Most changes show in its version; what is done through `.data` does not, so its place and one of its numbers are
    compared as well."""

    __slots__ = ("_address", "_addresses", "_looked_at", "_number", "_row", "_spot", "_turn", "_version")

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._turn = 0
        self._looked_at: Tensor | None = None
        self._version = self._address = 0
        self._row: Rows | None = None  # its numbers, if they can be read,
        self._spot = 0
        self._number = 0.0  # and what was there

    def note(self, parameters: Sequence[Tensor]) -> None:
        """As they are now, and where they were just found."""
        self._turn = turn = self._turn + 1
        which = turn % len(parameters)
        self._looked_at = looked_at = parameters[which]
        self._version, self._address = looked_at._version, self._addresses.addresses[which]
        self._row = row = self._addresses.row(which)
        if row is not None and row.size:
            self._spot = spot = turn * STRIDE % row.size
            self._number = row.item(spot)

    def unchanged(self) -> bool:
        """Since they were noted."""
        looked_at = self._looked_at
        if looked_at is None or looked_at._version != self._version or looked_at.data_ptr() != self._address:
            return False
        if self._row is None or not self._row.size:
            return True
        now = self._row.item(self._spot)
        return now == self._number or now != now
