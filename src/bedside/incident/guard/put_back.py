"""Weights and optimizer state as they were before a step, put back on the device where a flag there says so.

Nobody reads the flag: each tensor becomes `where(flag, before, after)`. State that lives on another device than the
flag (Adam keeps its step counts on the CPU) is put back at the beginning of the next step, when the flag has long
arrived.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class PutBack:
    """One optimizer's tensors, and one copy of them."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._tensors: list[Tensor] = []
        self._copies: list[Tensor] = []
        self._late: list[tuple[Tensor, Tensor]] = []  # on another device than the flag
        self._late_flag: tuple[Tensor, Any] | None = None  # on the CPU, and the event after which it is there

    def before(self) -> None:
        """The step begins."""
        self.settle()
        tensors = tensors_of(self._optimizer)
        if [id(each) for each in tensors] != [id(each) for each in self._tensors]:
            self._tensors = tensors
            self._copies = [torch.empty_like(each) for each in tensors]
        with torch.no_grad():
            torch._foreach_copy_(self._copies, self._tensors)

    def after(self, flag: Tensor) -> None:
        """The step is over."""
        bad = flag > 0
        with torch.no_grad():
            for tensor, copy in zip(self._tensors, self._copies, strict=True):
                if tensor.device == flag.device:
                    tensor.copy_(torch.where(bad, copy, tensor))
                else:
                    self._late.append((tensor, copy))
        if self._late:
            self._late_flag = _on_its_way(flag)

    def settle(self) -> None:
        """Put back what had to wait for the flag."""
        late, self._late = self._late, []
        flag, self._late_flag = self._late_flag, None
        if flag is None:
            return
        value, arrival = flag
        if arrival is not None:
            arrival.synchronize()  # of a step ago: nobody waits
        if bool(value):
            with torch.no_grad():
                for tensor, copy in late:
                    tensor.copy_(copy)


def moved_by(optimizer: Optimizer) -> list[Tensor]:
    """The parameters that its next step moves."""
    return [each for group in optimizer.param_groups for each in group["params"] if each.grad is not None]


def tensors_of(optimizer: Optimizer) -> list[Tensor]:
    """Every tensor that its next step changes."""
    found: list[Tensor] = []
    for parameter in moved_by(optimizer):
        state = optimizer.state.get(parameter, {})
        found += [parameter, *(each for each in state.values() if isinstance(each, Tensor))]
    return found


def counts_in_numbers(optimizer: Optimizer) -> bool:
    """Whether its state holds plain numbers, which no device can put back."""
    states = (optimizer.state.get(each, {}) for each in moved_by(optimizer))
    return any(isinstance(each, int | float) for state in states for each in state.values())


def _on_its_way(flag: Tensor) -> tuple[Tensor, Any]:
    if flag.device.type != "cuda":
        return flag.cpu(), None
    host = torch.empty((), dtype=flag.dtype, pin_memory=True)
    host.copy_(flag, non_blocking=True)
    arrival = torch.cuda.Event()
    arrival.record()
    return host, arrival
