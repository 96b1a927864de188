"""The squared norm of every tensor of a list, exactly and with few calls.

torch's own `vector_norm` adds in float32 and errs by 1 % at 100 million elements, and fp16 norms overflow. Here the
small tensors are gathered into one flat buffer by one call, those of equal size side by side, so that one call adds up
all of a size; the large ones are cut into chunks whose float32 dot products are exact enough and are summed in float64.
Off the CPU one fused call gives all norms.

Nothing here waits for a device: the result is a float64 tensor where the tensors are, an array where that is the CPU.
Where numba is installed, float32 tensors on the CPU are read by native code instead (`native/sums.py`): the same
numbers, sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.model.shards import is_sharded, local
from bedside.collect.reading.array_view import array_view
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.native.float32 import SAFE_RANGE
from bedside.collect.reading.native.sums import PLAIN
from bedside.collect.reading.nested_tensors import below_autograd
from bedside.training.freed_tensors import is_freed

SMALL = 1 << 14  # elements: below this the call costs more than the arithmetic (measured: 16 K)
BUNDLE = 8  # tensors with rows of one length: for fewer, one call that copies each is as quick
CHUNK = 1 << 17  # elements: fits the cache, and a float32 dot of this length errs by 2e-7 (measured)

_data_ptr = Tensor.data_ptr

Floats = NDArray[np.float64]
Rows = NDArray[np.floating]

if hasattr(np, "vecdot"):
    _dots = np.vecdot  # BLAS row by row, without a call for each
else:  # numpy 1

    def _dots(one: Rows, other: Rows) -> Rows:  # type: ignore[misc]  # the same function by another signature
        return np.einsum("ij,ij->i", one, other)


class SquaredNorms:
    """Measures lists of tensors that are shaped like these, again and again, in buffers that are kept."""

    def __init__(self, like: Sequence[Tensor]) -> None:
        self.count = len(like)
        self.on_cpu = all(t.device.type == "cpu" and not is_sharded(t) for t in like)
        plain = [self.on_cpu and not t.is_complex() and t.layout == torch.strided for t in like]
        small = [i for i, t in enumerate(like) if plain[i] and 0 < t.numel() < SMALL]
        # Side by side: what one call can join (rows of one length), and among them equal sizes.
        self.small = sorted(small, key=lambda i: (_row(like[i].shape), like[i].numel()))
        self.places = np.asarray(self.small, np.int64)
        known = set(small)
        self.others = [i for i, t in enumerate(like) if t.numel() and i not in known]
        self._sizes = [like[i].numel() for i in self.small]
        self._shapes = [like[i].shape for i in self.small]
        precise = any(like[i].dtype == torch.float64 for i in self.small)
        self._dtype = torch.float64 if precise else torch.float32
        self._flat, self._views = self.buffer()
        self._tables = self.tables(self._flat)
        self._bundles, self._loose = self._bundle()

    def _bundle(self) -> tuple[list[tuple[itemgetter[Any], Tensor]], list[int]]:
        """The small tensors that are joined by one call, with the part of the buffer where they belong; and the places
        among the small ones of those that are not."""
        bundles: list[tuple[itemgetter[Any], Tensor]] = []
        loose: list[int] = []
        for row, alike in groupby(range(len(self.small)), key=lambda place: _row(self._shapes[place])):
            places = list(alike)
            if len(places) < BUNDLE or not row:
                loose += places
                continue
            start, end = sum(self._sizes[: places[0]]), sum(self._sizes[: places[-1] + 1])
            members = itemgetter(*(self.small[place] for place in places))
            bundles.append((members, self._flat[start:end].view(row)))
        return bundles, loose

    def buffer(self) -> tuple[Tensor, list[Tensor]]:
        """One flat buffer for the small tensors, and a view of it per tensor."""
        flat = torch.zeros(sum(self._sizes), dtype=self._dtype)
        parts = flat.split(self._sizes) if self._sizes else ()
        return flat, [part.view(shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def tables(self, flat: Tensor) -> list[Rows]:
        """Such a buffer as one table per size, a row per tensor; one that is alone of its size as a row."""
        found, start, array = [], 0, flat.numpy()
        for size, alike in groupby(self._sizes):
            count = len(list(alike))
            table = array[start : start + size * count]
            found.append(table if count == 1 else table.reshape(count, size))
            start += size * count
        return found

    def squares(self, tensors: Sequence[Tensor | None]) -> Tensor | Floats:
        """Squared L2 norms in float64, one per tensor; 0 where there is none."""
        if not self.on_cpu:
            return on_device(tensors)
        if native.ready():
            return self._squares_natively(tensors)
        out = np.zeros(self.count)
        if self.small:
            self._gather(tensors)
            out[self.places] = squares_of(self._tables)
        for i in self.others:
            if (tensor := tensors[i]) is not None:
                out[i] = square(tensor)
        return out

    def largest(self, tensors: Sequence[Tensor | None]) -> Floats:
        """The largest absolute element of each, on the CPU; 0 where there is no tensor, NaN where one of its is. In a
        tenth of the time that torch's norm of infinite order takes."""
        out = np.zeros(self.count)
        with np.errstate(invalid="ignore"):
            if self.small:
                self._gather(tensors)
                rows = [table if table.ndim == 2 else table[np.newaxis] for table in self._tables]
                out[self.places] = np.concatenate([np.maximum(each.max(1), -each.min(1)) for each in rows])
            for i in self.others:
                if (tensor := tensors[i]) is not None and (row := as_row(tensor)).size:
                    out[i] = np.maximum(row.max(), -row.min())
        return out

    def _gather(self, tensors: Sequence[Tensor | None]) -> None:
        """The small ones into the buffer."""
        try:
            with below_autograd():
                for members, target in self._bundles:
                    torch.cat(members(tensors), out=target)
        except (TypeError, RuntimeError):  # one is missing, or sparse
            gather(self._views, [tensors[i] for i in self.small])
            return
        if self._loose:
            gather([self._views[place] for place in self._loose], [tensors[self.small[place]] for place in self._loose])

    def _squares_natively(self, tensors: Sequence[Tensor | None]) -> Floats:
        if native.all_suit(tensors):
            return native.squares(tensors)
        out = np.zeros(self.count)
        suited = [i for i, tensor in enumerate(tensors) if native.suits(tensor)]
        out[suited] = native.squares([tensors[i] for i in suited])
        for i in set(range(self.count)).difference(suited):
            if (tensor := tensors[i]) is not None and tensor.numel():
                out[i] = square(tensor)
        return out


def squares_of(tables: Sequence[Rows]) -> list[float]:
    """The squared norm of every row of these tables; once more in float64 where squares leave the range of float32.

    numpy's reductions and its error state are left alone where they can be: in a loop that has other things to do they
    take 20 microseconds each, as long as the sums themselves. `vdot` is the product that does not warn."""
    found: list[float] = []
    several = any(table.ndim == 2 for table in tables)
    with np.errstate(over="ignore", invalid="ignore") if several else nullcontext():
        for table in tables:
            if table.ndim == 1:
                found.append(float(np.vdot(table, table)))
            else:
                found += _dots(table, table).tolist()
    if min(found) > SAFE_RANGE[0] and max(found) < SAFE_RANGE[1]:
        return found
    return [square for table in tables for square in (_exactly(table) if table.ndim == 2 else [dot(table)])]


def _exactly(table: Rows) -> list[float]:
    """Of every row; in float64 where squares leave the range of float32, as those of gradients that vanish do."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = _dots(table, table).astype(np.float64)
        odd = ~((squares > SAFE_RANGE[0]) & (squares < SAFE_RANGE[1]))
        wide = table[odd].astype(np.float64)
        squares[odd] = _dots(wide, wide)
    return squares.tolist()


def gather(into: Sequence[Tensor], tensors: Sequence[Tensor | None]) -> None:
    """Copy a list of tensors in one call; where there is none, or nothing left of it, zeros."""
    if not into:
        return
    with below_autograd():
        with suppress(TypeError, RuntimeError):  # one is missing, or sparse
            if all(map(_data_ptr, tensors)):  # an address of nothing: freed, or empty
                torch._foreach_copy_(into, tensors)
                return
        for view, tensor in zip(into, tensors, strict=True):
            if tensor is None or is_freed(tensor):
                view.zero_()
            else:
                view.copy_(tensor.to_dense().view_as(view))


def square(tensor: Tensor) -> float:
    """Squared L2 norm of one CPU tensor, in chunks, whatever its kind."""
    array = as_row(tensor)
    if array.size <= CHUNK:
        return dot(array)
    return sum(dot(array[start : start + CHUNK]) for start in range(0, array.size, CHUNK))


def as_row(tensor: Tensor) -> Rows:
    """All its numbers in a row, in float32 or float64; a view wherever that can be."""
    if type(tensor) not in PLAIN or tensor.dtype not in EXACT or tensor.layout is not torch.strided:
        tensor = _real_and_dense(tensor)
        tensor = tensor if tensor.dtype in EXACT else tensor.float()
    return array_view(tensor).reshape(-1)


EXACT = (torch.float32, torch.float64)


def dot(part: NDArray[np.floating]) -> float:
    """The squared norm of a chunk; once more in float64 where squares leave the range of float32."""
    value = float(np.vdot(part, part))
    if SAFE_RANGE[0] < value < SAFE_RANGE[1] or not part.any():
        return value
    wide = part.astype(np.float64)
    return float(np.vdot(wide, wide))


def _row(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of such tensors joined at their first dimension; none if they have no dimension."""
    return (-1, *shape[1:]) if len(shape) else ()


def flat(tensor: Tensor) -> Tensor:
    """All its numbers in a row; a view wherever that can be."""
    return _real_and_dense(tensor).reshape(-1)


def _real_and_dense(tensor: Tensor) -> Tensor:
    """Detached; sparse gradients by their values, complex numbers as pairs, shards as they lie on this rank."""
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    tensor = local(tensor)
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def on_device(tensors: Sequence[Tensor | None]) -> Tensor:
    """One fused call for all that lie together. On accelerators reductions are trees, so float32 is exact enough."""
    present = [_real_and_dense(t) for t in tensors if t is not None]
    device = next((t.device for t in present if t.device.type != "cpu"), torch.device("cpu"))
    norms = torch._foreach_norm(present, 2, torch.float32)
    together = torch.stack([norm.to(device, non_blocking=True) for norm in norms]).double() ** 2
    if len(present) == len(tensors):
        return together
    out = torch.zeros(len(tensors), dtype=torch.float64, device=device)
    places = torch.tensor([i for i, t in enumerate(tensors) if t is not None], device=device)
    return out.index_copy_(0, places, together)
