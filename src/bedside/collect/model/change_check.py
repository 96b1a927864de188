"""Checks whether parameters are still as they were, without reading them all."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from torch import Tensor

from bedside.collect.reading.addresses import Addresses
from bedside.collect.reading.squared_norms import Rows

STRIDE = 7919  # from one number that is compared to the next: a prime, so that all places of a tensor get their turn

_version = attrgetter("_version")


class ChangeCheck:
    """Looks at every parameter, since whoever edits weights may edit one layer only. Most changes show in a tensor's
    version; what is done through `.data` does not, so one number of each is compared as well, another one each time.
    Addresses are asked first: memory that was given back must not be read."""

    __slots__ = ("_addresses", "_found", "_noted", "_numbers", "_parameters", "_turn", "_versions")

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._turn = 0
        self._parameters: Sequence[Tensor] = ()
        self._versions: list[int] = []
        self._found: list[int] = []
        self._noted: list[Rows] = []  # those whose numbers can be read,
        self._numbers: list[float] = []  # and what was there

    def note(self, parameters: Sequence[Tensor]) -> None:
        """As they are now, and where they were just found."""
        self._turn = turn = self._turn + 1
        self._parameters = parameters
        self._versions = list(map(_version, parameters))
        self._found = self._addresses.addresses
        self._noted = self._addresses.rows
        spot = turn * STRIDE
        self._numbers = [row.item(spot % row.size) for row in self._noted]

    def unchanged(self) -> bool:
        """Since they were noted."""
        parameters = self._parameters
        if not parameters or list(map(_version, parameters)) != self._versions:
            return False
        if self._addresses.find(parameters) is not self._found:
            return False
        spot = self._turn * STRIDE
        now = [row.item(spot % row.size) for row in self._noted]
        return now == self._numbers or all(a == b or a != a for a, b in zip(now, self._numbers, strict=True))
