"""Weights and optimizer state as they were before a step, put back on the device where a flag there says so.

Nobody reads the flag: each tensor becomes `where(flag, before, after)`. State that lives on another device than the
flag (Adam keeps its step counts on the CPU) is put back at the beginning of the next step, when the flag has long
arrived. What an optimizer makes only at its first step cannot have been copied, and plain numbers cannot be put back
by a device, so there the flag is read after all: at the first step, and with optimizers that count in numbers.
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
        self._taken: list[tuple[Tensor, Tensor]] = []  # gradients of a step that is left out on the host
        self._known: set[int] = set()  # ids of parameters that have been through a step

    def before(self, flag: Tensor) -> None:
        """The step begins."""
        self.settle()
        tensors = self._present()
        if tensors is None:
            self._tensors = []
            if bool(flag):  # here the host waits
                self._taken = [(each, each.grad) for each in self._parameters()]
                for parameter, _ in self._taken:
                    parameter.grad = None
            return
        if [id(each) for each in tensors] != [id(each) for each in self._tensors]:
            self._tensors = tensors
            self._copies = [torch.empty_like(each) for each in tensors]
        with torch.no_grad():
            torch._foreach_copy_(self._copies, self._tensors)

    def after(self, flag: Tensor) -> None:
        """The step is over."""
        if self._taken:
            for parameter, gradient in self._taken:
                parameter.grad = gradient
            self._taken = []
            return
        self._known.update(map(id, self._parameters()))
        bad = flag > 0
        with torch.no_grad():
            for tensor, copy in zip(self._tensors, self._copies, strict=False):
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
            arrival.synchronize()  # a step ago: nobody waits
        if bool(value):
            with torch.no_grad():
                for tensor, copy in late:
                    tensor.copy_(copy)

    def _parameters(self) -> list[Tensor]:
        return [each for group in self._optimizer.param_groups for each in group["params"] if each.grad is not None]

    def _present(self) -> list[Tensor] | None:
        """Every tensor that the step may change; None while the step would make new ones, or numbers change."""
        found: list[Tensor] = []
        for parameter in self._parameters():
            state = self._optimizer.state.get(parameter, {})
            if id(parameter) not in self._known or any(isinstance(each, int | float) for each in state.values()):
                return None
            found += [parameter, *(each for each in state.values() if isinstance(each, Tensor))]
        return found


def _on_its_way(flag: Tensor) -> tuple[Tensor, Any]:
    if flag.device.type != "cuda":
        return flag.cpu(), None
    host = torch.empty((), dtype=flag.dtype, pin_memory=True)
    host.copy_(flag, non_blocking=True)
    arrival = torch.cuda.Event()
    arrival.record()
    return host, arrival
