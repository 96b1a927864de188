"""Gradients as they were before somebody clipped them, read because it cannot be worked out afterwards.

Clipping by norm multiplies all gradients by one factor that the clip call knows. Clipping by value, or by hand, does
not say how much it took away: only reading them before does.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bedside.collect.model.parameter_layout import Layout
from bedside.collect.reading.device_queue import DeviceQueue, PendingValue
from bedside.collect.reading.norm_reader import Reader
from bedside.collect.step.step_data import Gradients, Members, Unclipped


class UnclippedGradients:
    """Reads all gradients of a layout, or those of some members."""

    def __init__(self, layout: Layout, queue: DeviceQueue) -> None:
        self._layout = layout
        self._queue = queue
        self._readers: dict[tuple[int, ...] | None, Reader] = {}  # by members: clip calls come with the same ones

    def read(self, members: Members, threshold: float | None) -> Unclipped | None:
        """As they are now; None if they are of a kind that is not read here."""
        largest = self.largest(members)
        if largest is None:
            return None
        squares, _ = self._reader(members).gradients()
        return Unclipped(members, self._queue.put(squares), largest, threshold)

    def largest(self, members: Members) -> PendingValue | None:
        """The largest absolute element."""
        found = largest_element([p.grad for p in self._parameters(members) if p.grad is not None])
        return None if found is None else self._queue.put(found)

    def gradients(self) -> Gradients:
        """All of them, of an evaluation that is not the last before the optimizer's step ends."""
        squares, absent = self._reader(None).gradients()
        return Gradients(None, self._queue.put(squares), absent, unclipped=True)

    def _reader(self, members: Members) -> Reader:
        key = None if members is None else tuple(members.tolist())
        if key not in self._readers:
            self._readers[key] = Reader(self._parameters(members))
        return self._readers[key]

    def _parameters(self, members: Members) -> Sequence[Tensor]:
        mine = self._layout.parameters
        return mine if members is None else [mine[at] for at in members]


def largest_element(gradients: Sequence[Tensor]) -> Tensor | None:
    """Of plain gradients on one device."""
    plain = [g.detach() for g in gradients if g.numel()]
    if not plain or any(g.layout is not torch.strided or hasattr(g, "to_local") or g.is_complex() for g in plain):
        return None
    if len({g.device for g in plain}) > 1:
        return None
    return torch.stack([each.double() for each in torch._foreach_norm(plain, torch.inf)]).amax()
