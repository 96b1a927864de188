"""Tensors in whatever a module takes or returns: tuples, dicts, dataclasses, nothing at all. And how they are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from bedside.collect.model.shards import is_here, local
from bedside.training.freed_tensors import is_freed

MAX_DEPTH = 4  # levels of nesting: past key values of a language model are tuples of tuples


def tensors_in(value: Any, depth: int = MAX_DEPTH) -> Iterator[Tensor]:
    """Every tensor inside, in order; of a DTensor what this rank holds."""
    if isinstance(value, Tensor):
        yield local(value)
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each, depth - 1)
    elif depth and isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each, depth - 1)
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name, None), depth - 1)


def arrays_in(value: Any) -> list[Tensor]:
    """Those that can be a batch or an output: dense, not empty, still there, and no single number beside them (a count
    of tokens, a temperature, a loss)."""
    every = [t for t in tensors_in(value) if t.layout is torch.strided and t.dim() and is_here(t)]
    return [t for t in every if not is_freed(t)]


def floating_in(value: Any) -> list[Tensor]:
    """Those of them that hold real numbers."""
    return [t for t in arrays_in(value) if t.is_floating_point()]


class NoGradients:
    """What torch.no_grad does, without its ten microseconds."""

    def __enter__(self) -> None:
        self._before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        torch._C._set_grad_enabled(self._before)


# The same for copies into buffers of our own, at every step. It is entered and left by native code, so that Ctrl-C
# cannot come between the end of the work and the moment at which gradients are computed again.
below_autograd: Callable[[], AbstractContextManager[Any]] = getattr(torch._C, "_AutoDispatchBelowAutograd", NoGradients)
