"""Where parameters lie, and their numbers as they lie there, without asking again for what stayed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bedside.collect.squares import EXACT, Rows, as_row

_data_ptr = torch.Tensor.data_ptr


class Places:
    """Of one list of parameters on the CPU."""

    def __init__(self) -> None:
        self.addresses: list[int] = []
        self._rows: dict[int, Rows | None] = {}  # they hold the memory, so that nothing else can lie there

    def find(self, parameters: Sequence[Tensor]) -> list[int]:
        """Where they lie now: the same list as last time, if nothing has moved."""
        addresses = list(map(_data_ptr, parameters))
        if addresses != self.addresses:
            self.addresses, self._rows = addresses, {}
        return self.addresses

    def row(self, parameters: Sequence[Tensor], place: int) -> Rows | None:
        """The numbers of one that lies where it was found, in a row; None if numpy cannot read them there."""
        if place not in self._rows:
            tensor = parameters[place]
            readable = tensor.dtype in EXACT and tensor.is_contiguous() and not hasattr(tensor, "to_local")
            self._rows[place] = as_row(tensor) if readable else None
        return self._rows[place]
