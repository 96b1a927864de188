"""The addresses of parameters, and numpy views of the memory there, made anew only when something has moved."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bedside.collect.reading.squared_norms import EXACT, Rows, as_row
from bedside.training.freed_tensors import is_freed

_data_ptr = torch.Tensor.data_ptr


class Addresses:
    """Of one list of parameters on the CPU. All are asked every time, although that takes as long as reading 500 small
    ones: an address that is no longer theirs must never be read. The memory they were found in is held meanwhile."""

    def __init__(self) -> None:
        self.addresses: list[int] = []
        self._held: list[Tensor] = []  # the same memory
        self._rows: dict[int, Rows | None] = {}
        self._readable: list[Rows] | None = None

    def find(self, parameters: Sequence[Tensor]) -> list[int]:
        """Where they lie: the same list as last time, if nothing has moved."""
        addresses = list(map(_data_ptr, parameters))
        if addresses != self.addresses:
            self.addresses, self._rows, self._readable = addresses, {}, None
            self._held = [parameter.detach() for parameter in parameters]
        return self.addresses

    @property
    def rows(self) -> list[Rows]:
        """The numbers of all that can be read where they were found, and hold any."""
        if self._readable is None:
            rows = [self.row(place) for place in range(len(self._held))]
            self._readable = [row for row in rows if row is not None and row.size]
        return self._readable

    def row(self, place: int) -> Rows | None:
        """The numbers of one where it was found, in a row; None if numpy cannot read them there."""
        if place not in self._rows:
            tensor = self._held[place]
            plain = tensor.dtype in EXACT and tensor.is_contiguous() and not hasattr(tensor, "to_local")
            readable = plain and not is_freed(tensor)
            self._rows[place] = as_row(tensor) if readable else None
        return self._rows[place]
