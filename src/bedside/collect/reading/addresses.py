"""Where parameters lie, and their numbers as they lie there, without asking again for what stayed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bedside.collect.reading.squared_norms import EXACT, Rows, as_row

CHECK_ALL_UP_TO = 64  # parameters that are all asked every time
CHECK_INTERVAL = 8  # of more, each is asked once in so many times: to ask 500 takes longer than to read them

_data_ptr = torch.Tensor.data_ptr


class Addresses:
    """Of one list of parameters on the CPU. Whoever moves all of them (`.data = …`) is noticed at once, who moves one
    of many, within eight steps unless all are asked; until then it is seen as it lay, for that memory is held."""

    def __init__(self) -> None:
        self.addresses: list[int] = []
        self._held: list[Tensor] = []  # the same memory
        self._rows: dict[int, Rows | None] = {}
        self._turn = 0

    def find(self, parameters: Sequence[Tensor], *, all_of_them: bool = False) -> list[int]:
        """Where they lie: the same list as last time, if nothing has moved."""
        if self.addresses and len(parameters) > CHECK_ALL_UP_TO and not all_of_them:
            self._turn = turn = (self._turn + 1) % CHECK_INTERVAL
            if list(map(_data_ptr, parameters[turn::CHECK_INTERVAL])) == self.addresses[turn::CHECK_INTERVAL]:
                return self.addresses
        addresses = list(map(_data_ptr, parameters))
        if addresses != self.addresses:
            self.addresses, self._rows = addresses, {}
            self._held = [parameter.detach() for parameter in parameters]
        return self.addresses

    def row(self, place: int) -> Rows | None:
        """The numbers of one where it was found, in a row; None if numpy cannot read them there."""
        if place not in self._rows:
            tensor = self._held[place]
            readable = tensor.dtype in EXACT and tensor.is_contiguous() and not hasattr(tensor, "to_local")
            self._rows[place] = as_row(tensor) if readable else None
        return self._rows[place]
