"""A few elements of every tensor of a list, in one row: copied by one call, and counted or multiplied by a few more.

The tensors are those of an optimizer's parameters: their gradients, the parameters themselves, their second moments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.layout import Layout
from bedside.collect.sample import sample, spread
from bedside.collect.squares import gather

MOST = 512  # per parameter: a share is then known to 2.2 points, and a module has several


class Elements:
    """At most `MOST` elements each of tensors that are shaped like these."""

    def __init__(self, like: Sequence[Tensor]) -> None:
        self.tensors = list(like)
        self.counts = [spread(t.numel(), MOST, 0)[2] for t in like]
        self._whole = [t.numel() <= MOST for t in like]
        exact = torch.float64 if any(t.dtype == torch.float64 for t in like) else torch.float32
        self._dtype = exact  # holds what half precision holds, to the last bit
        self.device = like[0].device if like else torch.device("cpu")
        self._ends = np.cumsum(self.counts, dtype=np.int64)
        self._rows: dict[int, tuple[Tensor, list[Tensor]]] = {}  # by number: a row, and the part of every tensor

    def pick(self, tensors: Sequence[Tensor | None], turn: int, row: int = 0) -> Tensor:
        """Them in the row of that number, which is kept and written over the next time; zeros where there is no tensor.
        The turn decides which elements of the larger ones."""
        if row not in self._rows:
            self._rows[row] = self._made()
        found, parts = self._rows[row]
        some = [
            tensor if whole or tensor is None else sample(tensor, turn, MOST)
            for tensor, whole in zip(tensors, self._whole, strict=True)
        ]
        gather(parts, some)
        return found

    def count(self, marked: Tensor) -> Tensor:
        """How many are marked, of each tensor."""
        if self.device.type == "cpu":
            return torch.from_numpy(np.add.reduceat(marked.numpy(), self._ends - self.counts, dtype=np.float64))
        sums = marked.cumsum(0)[torch.as_tensor(self._ends - 1, device=self.device)].double()
        return sums.diff(prepend=sums.new_zeros(1))

    def _made(self) -> tuple[Tensor, list[Tensor]]:
        row = torch.empty(sum(self.counts), dtype=self._dtype, device=self.device)
        shapes = [t.shape if whole else (-1,) for t, whole in zip(self.tensors, self._whole, strict=True)]
        return row, [part.view(shape) for part, shape in zip(row.split(self.counts), shapes, strict=True)]


def readable(optimizer: Optimizer, layout: Layout) -> list[Tensor]:
    """The optimizer's parameters that are watched and lie whole on one device, as real numbers."""
    mine = [p for group in optimizer.param_groups for p in group["params"] if id(p) in layout.index]
    plain = [p for p in mine if p.numel() and p.is_floating_point() and not hasattr(p, "to_local")]
    return [p for p in plain if p.device == plain[0].device]


def gradients(parameters: Sequence[Tensor]) -> list[Tensor | None]:
    """Their gradients; those of embeddings may be sparse, and are left out."""
    found = [p.grad for p in parameters]
    return [None if g is None or g.layout is not torch.strided else g for g in found]
