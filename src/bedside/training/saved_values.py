"""Save a value so that it can be put back: the same objects with the same contents, bit for bit.

`save(value)` returns a function that restores it and returns it. Containers, tensors, arrays, random generators and
the objects of a training (modules, optimizers, schedulers, scalers) are looked into; any other object is kept as it
is. Objects keep their identity, so that whoever else holds a weight or an optimizer's state sees it restored too.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

Restore = Callable[[], Any]
Memo = dict[int, Restore]

PLAIN = (bool, int, float, complex, str, bytes, type(None))
OPEN = (nn.Module, Optimizer, LRScheduler, GradScaler)  # objects whose attributes are saved as well


def save(value: Any, memo: Memo | None = None) -> Restore:
    """A function that puts `value` back as it is now; `memo` shares work between values that share parts."""
    memo = {} if memo is None else memo
    if isinstance(value, PLAIN):
        return lambda: value
    if id(value) in memo:
        return memo[id(value)]
    memo[id(value)] = lambda: value  # a cycle ends here
    restore = _saver(value, memo)
    memo[id(value)] = restore
    return restore


def _saver(value: Any, memo: Memo) -> Restore:
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, dict):
        return _dict(value, memo)
    if isinstance(value, list | deque):
        return _list(value, memo)
    if isinstance(value, tuple):
        return _parts(value, value, memo)
    if isinstance(value, set):
        return _set(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, OPEN):
        return _parts(value, [vars(value)], memo)
    return _generator(value)


def _tensor(tensor: Tensor) -> Restore:
    kept, trainable = tensor.detach(), tensor.requires_grad
    contents = kept.clone()

    def restore() -> Tensor:
        if tensor.data_ptr() != kept.data_ptr() or tensor.shape != kept.shape:
            tensor.data = kept  # somebody gave it other memory
        tensor.data.copy_(contents)  # through .data: graphs that hold this tensor need not know
        if tensor.is_leaf and tensor.requires_grad is not trainable:
            tensor.requires_grad_(trainable)
        return tensor

    return _sparse(tensor, contents) if tensor.layout is not torch.strided else restore


def _sparse(tensor: Tensor, contents: Tensor) -> Restore:
    def restore() -> Tensor:
        tensor.data = contents.clone()
        return tensor

    return restore


def _dict(value: dict[Any, Any], memo: Memo) -> Restore:
    entries = [(key, save(each, memo)) for key, each in value.items()]

    def restore() -> dict[Any, Any]:
        whole = {key: each() for key, each in entries}
        value.clear()
        value.update(whole)
        return value

    return restore


def _list(value: Any, memo: Memo) -> Restore:
    # A vocabulary of a million words is copied as it is; only what may change inside is looked into.
    entries = [each if isinstance(each, PLAIN) else save(each, memo) for each in value]

    def restore() -> Any:
        whole = [each() if callable(each) else each for each in entries]
        value.clear()
        value.extend(whole)
        return value

    return restore


def _parts(value: Any, parts: Iterable[Any], memo: Memo) -> Restore:
    entries = [save(each, memo) for each in parts]

    def restore() -> Any:
        for each in entries:
            each()
        return value

    return restore


def _set(value: set[Any]) -> Restore:
    entries = set(value)

    def restore() -> set[Any]:
        value.clear()
        value.update(entries)
        return value

    return restore


def _array(value: np.ndarray[Any, Any]) -> Restore:
    contents = value.copy()

    def restore() -> np.ndarray[Any, Any]:
        if value.flags.writeable:
            value[...] = contents
        return value

    return restore


def _generator(value: Any) -> Restore:
    """A source of random numbers is put back to its state; anything else is what it was."""
    if isinstance(value, torch.Generator):
        return _with_state(value, value.get_state(), value.set_state)
    if isinstance(value, random.Random):
        return _with_state(value, value.getstate(), value.setstate)
    if isinstance(value, np.random.RandomState):
        return _with_state(value, value.get_state(), value.set_state)
    if isinstance(value, np.random.Generator):
        bits = value.bit_generator
        return _with_state(value, bits.state, lambda state: setattr(bits, "state", state))
    return lambda: value


def _with_state(value: Any, state: Any, put: Callable[[Any], Any]) -> Restore:
    def restore() -> Any:
        put(state)
        return value

    return restore
