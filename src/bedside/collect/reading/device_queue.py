"""Numbers that wait on their device until many are brought over at once: one transfer, however many steps.

Numbers that lie in the computer's own memory wait for nobody: they are read when they are put here.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Ticket:
    """A promise of numbers: `numbers` is there once the freight has been unloaded."""

    __slots__ = ("numbers",)
    numbers: NDArray[np.float64]

    @property
    def number(self) -> float:
        return float(self.numbers[0])


class Freight:
    """`put` a tensor and get a ticket; `unload` redeems every ticket that is out."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Ticket, Tensor]] = []

    @property
    def full(self) -> bool:
        """Whether anything waits on a device."""
        return bool(self._waiting)

    def put(self, tensor: Tensor | NDArray[np.float64]) -> Ticket:
        ticket = Ticket()
        if isinstance(tensor, np.ndarray):
            ticket.numbers = tensor
            return ticket
        if type(tensor) is Tensor and tensor.dtype is torch.float64 and at_hand(tensor) and not tensor.requires_grad:
            ticket.numbers = tensor.numpy().reshape(-1)
            return ticket
        if hasattr(tensor, "full_tensor"):  # a replicated DTensor, as clipping under FSDP2 returns
            tensor = tensor.full_tensor()
        tensor = tensor.detach().reshape(-1)
        if at_hand(tensor):
            ticket.numbers = tensor.to(torch.float64).numpy()
        else:
            self._waiting.append((ticket, tensor))
        return ticket

    def unload(self) -> None:
        """Bring everything over; the one place where bedside may wait for a device."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        device = next((t.device for _, t in waiting if t.device.type != "cpu"), waiting[0][1].device)
        together = torch.cat([tensor.to(device, torch.float64, non_blocking=True) for _, tensor in waiting])
        numbers = (together if device.type == "cpu" else together.cpu()).numpy()
        ends = np.cumsum([len(tensor) for _, tensor in waiting])
        for (ticket, _), part in zip(waiting, np.split(numbers, ends[:-1]), strict=True):
            ticket.numbers = part


def at_hand(tensor: Tensor) -> bool:
    """Whether its numbers can be read without waiting for a device. (Tests say no, to run as if there were one.)"""
    return tensor.is_cpu


def reading(scalar: Tensor) -> float | Tensor:
    """A single number: at once where nobody waits for it, otherwise the tensor itself, for the freight."""
    if type(scalar) is Tensor and at_hand(scalar):
        number = scalar.tolist()  # a read of memory; `item` would be counted as a transfer
        return number if type(number) is float else float(scalar.detach().reshape(()).tolist())
    return scalar.detach().reshape(())
