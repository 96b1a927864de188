"""Numbers that wait on their device until many are brought over at once: one transfer, however many steps."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Freight:
    """`put` a tensor and get a ticket; `unload` fetches everything; `take(ticket)` is its numbers."""

    def __init__(self) -> None:
        self._waiting: list[Tensor] = []
        self._arrived: list[NDArray[np.float64]] = []

    def put(self, tensor: Tensor) -> int:
        if hasattr(tensor, "full_tensor"):  # a replicated DTensor, as clipping under FSDP2 returns
            tensor = tensor.full_tensor()
        self._waiting.append(tensor.detach().reshape(-1))
        return len(self._waiting) - 1

    def unload(self) -> None:
        """Bring everything over; the one place where bedside may wait for a device."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            self._arrived = []
            return
        sizes = [len(tensor) for tensor in waiting]
        device = next((t.device for t in waiting if t.device.type != "cpu"), waiting[0].device)
        together = torch.cat([tensor.to(device, torch.float64, non_blocking=True) for tensor in waiting])
        numbers = (together if device.type == "cpu" else together.cpu()).numpy()
        self._arrived = np.split(numbers, np.cumsum(sizes)[:-1])

    def take(self, ticket: int) -> NDArray[np.float64]:
        return self._arrived[ticket]
