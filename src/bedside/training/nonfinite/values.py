"""Counting what is not finite, exactly and cheaply, in whatever kind of tensor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.wording import count, number


@dataclass(frozen=True)
class Statistics:
    """One tensor in numbers; the smallest and largest are of its finite entries."""

    shape: tuple[int, ...]
    dtype: str
    nan: int
    inf: int
    zeros: int
    low: float
    high: float

    def __str__(self) -> str:
        bad = ", ".join(f"{count(many)} {what}" for many, what in ((self.nan, "NaN"), (self.inf, "Inf")) if many)
        zeros = f", {count(self.zeros)} zero" if self.zeros else ""
        return f"{self.dtype} {list(self.shape)}, {number(self.low)} to {number(self.high)}{zeros}" + (
            f"; {bad}" if bad else ""
        )


def readable_values(tensor: Tensor) -> Tensor | None:
    """The tensor's own numbers, dense and local; None where it holds no real numbers."""
    local = getattr(tensor, "to_local", None)
    values = local() if callable(local) else tensor  # a DTensor's own part
    values = values.detach()
    if values.layout is not torch.strided:
        values = values.coalesce().values() if values.layout is torch.sparse_coo else values.to_dense()
    return values if (values.is_floating_point() or values.is_complex()) and values.numel() else None


def is_finite(tensor: Tensor) -> bool:
    """Whether every entry is; one sum settles it where it can, since that is much cheaper than asking each entry."""
    values = readable_values(tensor)
    if values is None:
        return True
    total = values.sum(dtype=torch.float32 if values.dtype in (torch.float16, torch.bfloat16) else None)
    return bool(torch.isfinite(total)) or bool(torch.isfinite(values).all())


def all_finite(tensors: Iterable[Tensor]) -> bool:
    return all(is_finite(each) for each in tensors)


def statistics(tensor: Tensor) -> Statistics:
    """The tensor in numbers."""
    values = readable_values(tensor)
    shape, dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
    if values is None:
        return _of_integers(tensor, shape, dtype)
    values = values.abs() if values.is_complex() else values
    finite = values[torch.isfinite(values)].double()
    low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (float("nan"), float("nan"))
    nan, inf, zeros = (int(each.sum()) for each in (values.isnan(), values.isinf(), values == 0))
    return Statistics(shape, dtype, nan, inf, zeros, low, high)


def _of_integers(tensor: Tensor, shape: tuple[int, ...], dtype: str) -> Statistics:
    if not tensor.numel() or tensor.layout is not torch.strided:
        return Statistics(shape, dtype, 0, 0, 0, float("nan"), float("nan"))
    values: Any = tensor.detach().to(torch.float64)
    return Statistics(shape, dtype, 0, 0, int((values == 0).sum()), float(values.min()), float(values.max()))
