"""The squared norm of every tensor in a list, exactly and with few calls.

torch's own `vector_norm` adds in float32 and errs by 1 % at 100 million elements, and fp16 norms overflow. Here
small tensors are gathered into one flat buffer and added up in float64, large ones are cut into chunks whose
float32 dot products are exact enough and are summed in float64. Off the CPU, one fused call gives all norms.

Nothing here waits for a device: the result is a float64 tensor where the tensors are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

SMALL = 1 << 14  # elements: below this the call costs more than the arithmetic (measured: 16 K)
CHUNK = 1 << 17  # elements: fits the cache, and a float32 dot of this length errs by 2e-7 (measured)


def squares(tensors: Sequence[Tensor | None]) -> Tensor:
    """Squared L2 norms in float64, one per tensor; NaN with the `missing` payload is for the caller to add."""
    dense = [None if t is None else _dense(t) for t in tensors]
    if all(t is None or t.device.type == "cpu" for t in dense):
        return torch.from_numpy(_on_cpu(dense))
    return _on_device(dense)


def _dense(tensor: Tensor) -> Tensor:
    """Real, dense, detached: sparse gradients by their values, complex numbers as pairs, shards as they lie."""
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    if hasattr(tensor, "to_local"):  # a DTensor: this rank's part
        tensor = tensor.to_local()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _on_cpu(tensors: Sequence[Tensor | None]) -> np.ndarray:
    out = np.zeros(len(tensors))
    small: list[np.ndarray] = []
    places: list[int] = []
    for i, tensor in enumerate(tensors):
        if tensor is None or tensor.numel() == 0:
            continue
        if tensor.dtype not in (torch.float32, torch.float64):
            tensor = tensor.float()
        flat = tensor.reshape(-1).numpy()
        if flat.size < SMALL:
            small.append(flat)
            places.append(i)
        else:
            out[i] = _in_chunks(flat)
    if small:
        with np.errstate(over="ignore", invalid="ignore"):
            joined = np.concatenate(small).astype(np.float64, copy=False)
            starts = np.cumsum([0] + [len(each) for each in small[:-1]])
            out[places] = np.add.reduceat(joined * joined, starts)
    return out


def _in_chunks(flat: np.ndarray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(
            sum(
                float(np.dot(part, part))
                for part in (flat[start : start + CHUNK] for start in range(0, flat.size, CHUNK))
            )
        )


def _on_device(tensors: Sequence[Tensor | None]) -> Tensor:
    """One fused call for all that lie together. On accelerators reductions are trees, so float32 is exact enough."""
    device = next(t.device for t in tensors if t is not None)
    present = [t for t in tensors if t is not None]
    norms = torch._foreach_norm(present, 2, torch.float32)
    together = torch.stack([norm.to(device, non_blocking=True) for norm in norms]).double() ** 2
    if len(present) == len(tensors):
        return together
    out = torch.zeros(len(tensors), dtype=torch.float64, device=device)
    places = torch.tensor([i for i, t in enumerate(tensors) if t is not None], device=device)
    return out.index_copy_(0, places, together)
