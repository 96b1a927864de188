"""A few elements of every tensor of a list, in one row: copied by one call, and counted or multiplied by a few more.

The tensors are those of an optimizer's parameters: their gradients, the parameters themselves, their second moments. Of
each it is always the same elements, so that whoever wants to know about the same step looks at one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.model.parameter_layout import Layout
from bedside.collect.model.shards import is_sharded
from bedside.collect.reading.addresses import Addresses
from bedside.collect.reading.squared_norms import Rows, gather
from bedside.collect.reading.subsample import sample, spread

MAX_ELEMENTS = 512  # per parameter: a share is then known to 2.2 points, and a module has several


class Elements:
    """At most `MAX_ELEMENTS` elements each of tensors shaped like these. On the CPU a row is an array of numpy,
    whose calls take a fraction of torch's; elsewhere it is a tensor. Rows have names, and are written over the next
    time."""

    def __init__(self, like: Sequence[Tensor]) -> None:
        self.tensors = list(like)
        self.sizes = [t.numel() for t in like]
        spreads = [spread(size, MAX_ELEMENTS, 0) for size in self.sizes]
        self.counts = [length for _, _, length in spreads]
        # Of those that are read whole None, of the others every how many.
        self._strides = [
            None if size <= MAX_ELEMENTS else stride for size, (_, stride, _) in zip(self.sizes, spreads, strict=True)
        ]
        exact = torch.float64 if any(t.dtype == torch.float64 for t in like) else torch.float32
        self._dtype = exact  # holds what half precision holds, to the last bit
        self.device = like[0].device if like else torch.device("cpu")
        self.here = self.device.type == "cpu"
        self._ends = np.cumsum(self.counts, dtype=np.int64)
        self._starts = self._ends - self.counts
        self._rows: dict[str, tuple[Any, list[Tensor]]] = {}  # by name: a row, and the part of every tensor
        self._stable: dict[str, StableViews] = {}  # the same, of tensors that stay where they are
        self._step = -1  # whose gradients were picked last

    def gradients(self, step: int) -> Any:
        """Of this step, with zeros where there is none; those of the step before are still there as well."""
        name = "even gradients" if step % 2 == 0 else "odd gradients"
        if step != self._step:
            self._step = step
            return self.pick(gradients(self.tensors), name)
        return self._rows[name][0]

    def pick(self, tensors: Sequence[Tensor | None], name: str) -> Any:
        """Of these, in the row of that name; zeros where there is no tensor."""
        found, parts = self._row(name)
        some = [
            tensor if tensor is None or stride is None else _strided(tensor, stride, length)
            for tensor, stride, length in zip(tensors, self._strides, self.counts, strict=True)
        ]
        gather(parts, some)
        return found

    def pick_stable(self, tensors: Sequence[Tensor], name: str) -> Any:
        """The same of tensors that are expected where they were the last time, as parameters are: then the views of
        them need not be made again, which takes longer than to copy them."""
        if self.here:
            if name not in self._stable:
                self._stable[name] = StableViews(self._strides, self.counts)
            views = self._stable[name].views(tensors)
            if views is not None:
                found, _ = self._row(name)
                return np.concatenate(views, out=found)
        return self.pick(tensors, name)

    def kept(self, name: str) -> Any:
        """What was picked under that name the last time; anything at all if nothing was."""
        return self._row(name)[0]

    def count(self, *marked: Any) -> Any:
        """How many are marked, of each tensor; a line for each of these."""
        if self.here:
            return np.add.reduceat(np.stack(marked).astype(np.float64), self._starts, axis=1)
        sums = torch.stack(marked).cumsum(1)[:, torch.as_tensor(self._ends - 1, device=self.device)].double()
        return sums.diff(prepend=sums.new_zeros(len(marked), 1))

    def _row(self, name: str) -> tuple[Any, list[Tensor]]:
        if name not in self._rows:
            row = torch.empty(sum(self.counts), dtype=self._dtype, device=self.device)
            shapes = [
                t.shape if stride is None else (-1,) for t, stride in zip(self.tensors, self._strides, strict=True)
            ]
            parts = [part.view(shape) for part, shape in zip(row.split(self.counts), shapes, strict=True)]
            self._rows[name] = (row.numpy() if self.here else row, parts)
        return self._rows[name]


class StableViews:
    """Views of tensors on the CPU, as long as they stay where they are."""

    def __init__(self, strides: Sequence[int | None], counts: Sequence[int]) -> None:
        self._strides, self._counts = strides, counts
        self._addresses = Addresses()
        self._made_for: list[int] = []
        self._views: list[Rows] | None = None

    def views(self, tensors: Sequence[Tensor]) -> list[Rows] | None:
        """The elements of each; None if there is one that numpy cannot read where it lies."""
        addresses = self._addresses.find(tensors)
        if addresses is not self._made_for:
            self._made_for = addresses
            rows = [self._addresses.row(i) for i in range(len(tensors))]
            self._views = [
                row if stride is None else row[: length * stride : stride]
                for row, stride, length in zip(rows, self._strides, self._counts, strict=True)
                if row is not None
            ]
            if len(self._views) < len(rows):
                self._views = None
        return self._views


class ElementsOf:
    """The elements of each optimizer's parameters, for all who look at them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Layout, list[int], Elements]] = {}

    def __call__(self, optimizer: Optimizer, layout: Layout) -> Elements:
        sizes = [len(group["params"]) for group in optimizer.param_groups]
        known = self._known.get(id(optimizer))
        if known is None or known[0] is not layout or known[1] != sizes:
            known = self._known[id(optimizer)] = (layout, sizes, Elements(readable(optimizer, layout)))
        return known[2]


def readable(optimizer: Optimizer, layout: Layout) -> list[Tensor]:
    """The optimizer's parameters that are watched and lie whole on one device, as real numbers."""
    mine = [p for group in optimizer.param_groups for p in group["params"] if id(p) in layout.index]
    plain = [p for p in mine if p.numel() and p.is_floating_point() and not is_sharded(p)]
    return [p for p in plain if p.device == plain[0].device]


def gradients(parameters: Sequence[Tensor]) -> list[Tensor | None]:
    """Their gradients; those of embeddings may be sparse, and are left out."""
    found = [p.grad for p in parameters]
    return [None if g is None or g.layout is not torch.strided else g for g in found]


def _strided(tensor: Tensor, stride: int, length: int) -> Tensor:
    tensor = tensor.detach()
    if not tensor.is_contiguous():
        return sample(tensor, 0, MAX_ELEMENTS)
    return tensor.as_strided((length,), (stride,), tensor.storage_offset())
