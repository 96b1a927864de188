"""A few elements of every tensor of a list, in one row: copied by one call, and counted or multiplied by a few more.

The tensors are those of an optimizer's parameters: their gradients, the parameters themselves, their second moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.layout import Layout
from bedside.collect.sample import sample, spread
from bedside.collect.squares import gather

MOST = 512  # per parameter: a share is then known to 2.2 points, and a module has several


class Elements:
    """At most `MOST` elements each of tensors that are shaped like these. On the CPU a row is an array of numpy, whose
    calls take a fraction of torch's; elsewhere it is a tensor."""

    def __init__(self, like: Sequence[Tensor]) -> None:
        self.tensors = list(like)
        spreads = [spread(t.numel(), MOST, 0) for t in like]
        self.counts = [length for _, _, length in spreads]
        # Of those that are read whole None, of the others every how many.
        self._strides = [None if t.numel() <= MOST else stride for t, (_, stride, _) in zip(like, spreads, strict=True)]
        exact = torch.float64 if any(t.dtype == torch.float64 for t in like) else torch.float32
        self._dtype = exact  # holds what half precision holds, to the last bit
        self.device = like[0].device if like else torch.device("cpu")
        self.here = self.device.type == "cpu"
        self._ends = np.cumsum(self.counts, dtype=np.int64)
        self._starts = self._ends - self.counts
        self._rows: dict[int, tuple[Any, list[Tensor]]] = {}  # by number: a row, and the part of every tensor

    def pick(self, tensors: Sequence[Tensor | None], turn: int, row: int = 0) -> Any:
        """Them in the row of that number, which is kept and written over the next time; zeros where there is no tensor.
        The turn decides which elements of the larger ones."""
        if row not in self._rows:
            self._rows[row] = self._made()
        found, parts = self._rows[row]
        some = [
            tensor if tensor is None or stride is None else self._strided(tensor, stride, length, turn)
            for tensor, stride, length in zip(tensors, self._strides, self.counts, strict=True)
        ]
        gather(parts, some)
        return found

    def count(self, *marked: Any) -> Any:
        """How many are marked, of each tensor; a line for each of these."""
        if self.here:
            return np.add.reduceat(np.stack(marked).astype(np.float64), self._starts, axis=1)
        sums = torch.stack(marked).cumsum(1)[:, torch.as_tensor(self._ends - 1, device=self.device)].double()
        return sums.diff(prepend=sums.new_zeros(len(marked), 1))

    def _strided(self, tensor: Tensor, stride: int, length: int, turn: int) -> Tensor:
        tensor = tensor.detach()
        if not tensor.is_contiguous():
            return sample(tensor, turn, MOST)
        return tensor.as_strided((length,), (stride,), tensor.storage_offset() + turn % stride)

    def _made(self) -> tuple[Any, list[Tensor]]:
        row = torch.empty(sum(self.counts), dtype=self._dtype, device=self.device)
        shapes = [t.shape if stride is None else (-1,) for t, stride in zip(self.tensors, self._strides, strict=True)]
        parts = [part.view(shape) for part, shape in zip(row.split(self.counts), shapes, strict=True)]
        return row.numpy() if self.here else row, parts


def readable(optimizer: Optimizer, layout: Layout) -> list[Tensor]:
    """The optimizer's parameters that are watched and lie whole on one device, as real numbers."""
    mine = [p for group in optimizer.param_groups for p in group["params"] if id(p) in layout.index]
    plain = [p for p in mine if p.numel() and p.is_floating_point() and not hasattr(p, "to_local")]
    return [p for p in plain if p.device == plain[0].device]


def gradients(parameters: Sequence[Tensor]) -> list[Tensor | None]:
    """Their gradients; those of embeddings may be sparse, and are left out."""
    found = [p.grad for p in parameters]
    return [None if g is None or g.layout is not torch.strided else g for g in found]
