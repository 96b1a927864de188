"""The squared norm of every tensor of a list, exactly and with few calls.

torch's own `vector_norm` adds in float32 and errs by 1 % at 100 million elements, and fp16 norms overflow. Here the
small tensors are gathered into one flat buffer by one call and added up in float64; the large ones are cut into chunks
whose float32 dot products are exact enough and are summed in float64. Off the CPU one fused call gives all norms.

Nothing here waits for a device: the result is a float64 tensor where the tensors are. Where numba is installed, float32
tensors on the CPU are read by machine code instead (`native.py`): the same numbers, sooner.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect import native

SMALL = 1 << 14  # elements: below this the call costs more than the arithmetic (measured: 16 K)
SAFE = (1e-30, 1e37)  # sums in between lost nothing: float32 squares vanish below 1e-38 and overflow above 3e38
CHUNK = 1 << 17  # elements: fits the cache, and a float32 dot of this length errs by 2e-7 (measured)

Floats = NDArray[np.float64]


class Gauge:
    """Measures lists of tensors that are shaped like these, again and again, in buffers that are kept."""

    def __init__(self, like: Sequence[Tensor]) -> None:
        self.count = len(like)
        self.on_cpu = all(t.device.type == "cpu" and not _is_sharded(t) for t in like)
        plain = [self.on_cpu and not t.is_complex() and t.layout == torch.strided for t in like]
        self.small = [i for i, t in enumerate(like) if plain[i] and 0 < t.numel() < SMALL]
        self.others = [i for i, t in enumerate(like) if t.numel() and i not in set(self.small)]
        sizes = [like[i].numel() for i in self.small]
        precise = any(like[i].dtype == torch.float64 for i in self.small)
        self._starts = np.cumsum([0, *sizes[:-1]]) if sizes else np.empty(0, np.int64)
        self._shapes = [like[i].shape for i in self.small]
        self._sizes = sizes
        self._dtype = torch.float64 if precise else torch.float32
        self._squared = np.empty(sum(sizes))
        self._flat, self._views = self.buffer()

    def buffer(self) -> tuple[Tensor, list[Tensor]]:
        """One flat buffer for the small tensors, and a view of it per tensor."""
        flat = torch.zeros(sum(self._sizes), dtype=self._dtype)
        parts = flat.split(self._sizes) if self._sizes else ()
        return flat, [part.view(shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def squares(self, tensors: Sequence[Tensor | None]) -> Tensor:
        """Squared L2 norms in float64, one per tensor; 0 where there is none."""
        if not self.on_cpu:
            return _on_device(tensors)
        out = np.zeros(self.count)
        if native.ready():
            suited = [i for i, tensor in enumerate(tensors) if native.suits(tensor)]
            out[suited] = native.squares([tensors[i] for i in suited])  # type: ignore[misc]
            for i in set(range(self.count)).difference(suited):
                if (tensor := tensors[i]) is not None and tensor.numel():
                    out[i] = square(tensor)
            return torch.from_numpy(out)
        if self.small:
            gather(self._views, [tensors[i] for i in self.small])
            out[self.small] = self.squares_of_flat(self._flat.numpy())
        for i in self.others:
            if (tensor := tensors[i]) is not None:
                out[i] = square(tensor)
        return torch.from_numpy(out)

    def squares_of_flat(self, flat: NDArray[np.floating]) -> Floats:
        """The same for values that already lie in a buffer."""
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(flat, flat, out=self._squared, dtype=np.float64)
            return np.add.reduceat(self._squared, self._starts)


class Moved:
    """How far a list of parameters moves: remembers them before a step, measures change and size after it."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._gauge = Gauge(parameters)
        self._kept = [i for i in range(len(parameters)) if i not in set(self._gauge.small)]
        self._old = [torch.empty_like(parameters[i], requires_grad=False) for i in self._kept]
        self._old_flat, self._old_views = self._gauge.buffer()
        self._new_flat, self._new_views = self._gauge.buffer()
        places = [*self._gauge.small, *self._kept]
        self._olds = dict(zip(places, [*self._old_views, *self._old], strict=True))

    def remember(self, parameters: Sequence[Tensor]) -> None:
        gather(self._old_views, [parameters[i] for i in self._gauge.small])
        gather(self._old, [parameters[i] for i in self._kept])

    def measure(self, parameters: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """(squared change, squared size) per parameter; what was remembered is used up."""
        gauge = self._gauge
        if not gauge.on_cpu:
            _subtract(self._old, parameters)
            return _on_device(self._old), _on_device(parameters)
        change, size = np.zeros(gauge.count), np.zeros(gauge.count)
        if native.ready():
            self._measure_natively(parameters, change, size)
            return torch.from_numpy(change), torch.from_numpy(size)
        if gauge.small:
            gather(self._new_views, [parameters[i] for i in gauge.small])
            old, new = self._old_flat.numpy(), self._new_flat.numpy()
            size[gauge.small] = gauge.squares_of_flat(new)
            with np.errstate(over="ignore", invalid="ignore"):
                np.subtract(new, old, out=old)
            change[gauge.small] = gauge.squares_of_flat(old)
        _subtract(self._old, [parameters[i] for i in self._kept])
        for old_tensor, i in zip(self._old, self._kept, strict=True):
            change[i], size[i] = square(old_tensor), square(parameters[i])
        return torch.from_numpy(change), torch.from_numpy(size)

    def _measure_natively(self, parameters: Sequence[Tensor], change: Floats, size: Floats) -> None:
        def alike(i: int) -> bool:  # both in plain order, so that element for element belongs together
            new, old = parameters[i], self._olds[i]
            return native.suits(new) and native.suits(old) and new.is_contiguous() and old.is_contiguous()

        suited = [i for i in self._olds if alike(i)]
        change[suited], size[suited] = native.changes([self._olds[i] for i in suited], [parameters[i] for i in suited])
        for i in set(self._olds).difference(suited):
            size[i] = square(parameters[i])
            _subtract([self._olds[i]], [parameters[i]])
            change[i] = square(self._olds[i])


def gather(into: Sequence[Tensor], tensors: Sequence[Tensor | None]) -> None:
    """Copy a list of tensors in one call; where there is none, zeros."""
    if not into:
        return
    with torch.no_grad():
        if any(t is None or t.layout != torch.strided for t in tensors):
            for view, tensor in zip(into, tensors, strict=True):
                view.zero_() if tensor is None else view.copy_(tensor.to_dense())
        else:
            torch._foreach_copy_(list(into), list(tensors))  # type: ignore[arg-type]


def square(tensor: Tensor) -> float:
    """Squared L2 norm of one CPU tensor, in chunks, whatever its kind."""
    tensor = _real_and_dense(tensor)
    if tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.float()
    flat = tensor.reshape(-1).numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        chunks = (flat[start : start + CHUNK] for start in range(0, flat.size, CHUNK))
        return float(sum(_dot(part) for part in chunks))


def _dot(part: NDArray[np.floating]) -> float:
    """The squared norm of a chunk; once more in float64 where squares leave the range of float32."""
    value = float(np.dot(part, part))
    if SAFE[0] < value < SAFE[1] or not part.any():
        return value
    wide = part.astype(np.float64)
    return float(np.dot(wide, wide))


def _subtract(old: Sequence[Tensor], new: Sequence[Tensor]) -> None:
    if old:
        with torch.no_grad():
            torch._foreach_sub_(list(old), list(new))


def _is_sharded(tensor: Tensor) -> bool:
    return hasattr(tensor, "to_local")


def flat(tensor: Tensor) -> Tensor:
    """All its numbers in a row; a view wherever that can be."""
    return _real_and_dense(tensor).reshape(-1)


def _real_and_dense(tensor: Tensor) -> Tensor:
    """Detached; sparse gradients by their values, complex numbers as pairs, shards as they lie on this rank."""
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    if _is_sharded(tensor):
        tensor = tensor.to_local()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _on_device(tensors: Sequence[Tensor | None]) -> Tensor:
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
