"""While a copy of the model runs, its losses are ignored, and what its modules return counts as the original's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

RUNNING: set[int] = set()  # threads that are running a copy
_originals: dict[int, nn.Module] = {}  # by the id of the module that stands for it
_copies: dict[int, nn.Module] = {}  # by the id of the original


@contextmanager
def unobserved() -> Iterator[None]:
    """For this block the loss functions that this thread calls are not the training's."""
    thread = threading.get_ident()
    RUNNING.add(thread)
    try:
        yield
    finally:
        RUNNING.discard(thread)


@contextmanager
def observed_as(original: nn.Module, copy: nn.Module) -> Iterator[None]:
    """For this block collectors that observe the one observe the other."""
    pairs = list(zip(original.modules(), copy.modules(), strict=True))
    _originals.update((id(twin), module) for module, twin in pairs)
    _copies.update((id(module), twin) for module, twin in pairs)
    try:
        yield
    finally:
        _originals.clear()
        _copies.clear()


def original_of(module: nn.Module) -> nn.Module:
    return _originals.get(id(module), module)


def copy_of(module: nn.Module) -> nn.Module | None:
    """The module that is running in its place, if any."""
    return _copies.get(id(module))
