"""Numbers that wait on their device until many are transferred at once: one transfer, however many steps. Numbers in
CPU memory need not wait: they are read when they are put here.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.model.shards import whole


class PendingValue:
    """Numbers to come: `numbers` is set once the device queue has been transferred."""

    __slots__ = ("numbers",)
    numbers: NDArray[np.float64]

    @property
    def number(self) -> float:
        return float(self.numbers[0])


class DeviceQueue:
    """`put` a tensor and get a pending value; `transfer` fills in every pending value."""

    def __init__(self) -> None:
        self._waiting: list[tuple[PendingValue, Tensor]] = []

    @property
    def full(self) -> bool:
        """Whether anything waits on a device."""
        return bool(self._waiting)

    def put(self, tensor: Tensor | NDArray[np.float64]) -> PendingValue:
        pending = PendingValue()
        if isinstance(tensor, np.ndarray):
            pending.numbers = tensor
            return pending
        if type(tensor) is Tensor and tensor.dtype is torch.float64 and on_cpu(tensor) and not tensor.requires_grad:
            pending.numbers = tensor.numpy().reshape(-1)
            return pending
        tensor = whole(tensor).detach().reshape(-1)
        if on_cpu(tensor):
            pending.numbers = tensor.to(torch.float64).numpy()
        else:
            self._waiting.append((pending, tensor))
        return pending

    def transfer(self) -> None:
        """Transfer everything; the one place where bedside may wait for a device."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        device = next((t.device for _, t in waiting if t.device.type != "cpu"), waiting[0][1].device)
        together = torch.cat([tensor.to(device, torch.float64, non_blocking=True) for _, tensor in waiting])
        numbers = (together if device.type == "cpu" else together.cpu()).numpy()
        ends = np.cumsum([len(tensor) for _, tensor in waiting])
        for (pending, _), part in zip(waiting, np.split(numbers, ends[:-1]), strict=True):
            pending.numbers = part


def on_cpu(tensor: Tensor) -> bool:
    """Whether its numbers can be read without waiting for a device. (Tests say no, to run as if there were one.)"""
    return tensor.is_cpu


def reading(scalar: Tensor) -> float | Tensor:
    """A single number: at once where nobody waits for it, otherwise the tensor itself, for the device queue."""
    if type(scalar) is Tensor and on_cpu(scalar):
        number = scalar.tolist()  # a read of memory; `item` would be counted as a transfer
        return number if type(number) is float else float(scalar.detach().reshape(()).tolist())
    return scalar.detach().reshape(())
