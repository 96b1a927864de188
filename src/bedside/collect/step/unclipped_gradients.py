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
    """Reads all gradients of a layout, or those of some members; all of them by the step's own reader, where one reads
    all."""

    def __init__(self, layout: Layout, queue: DeviceQueue, whole: Reader | None = None) -> None:
        self._layout = layout
        self._queue = queue
        # By members: clip calls come with the same ones.
        self._readers: dict[tuple[int, ...] | None, Reader] = {} if whole is None else {None: whole}
        devices = {each.device for each in layout.parameters}
        self._plain = len(devices) == 1 and all(map(_is_plain, layout.parameters))

    def read(self, members: Members, threshold: float | None) -> Unclipped | None:
        """As they are now; None if they are of a kind that is not read here."""
        largest = self.largest(members)
        if largest is None:
            return None
        squares, _ = self._reader(members).gradients()
        return Unclipped(members, self._queue.put(squares), largest, threshold)

    def largest(self, members: Members) -> PendingValue | None:
        """The largest absolute element of plain gradients on one device."""
        gradients = [g for p in self._parameters(members) if (g := p.grad) is not None and g.numel()]
        if not (gradients and self._plain) or any(g.layout is not torch.strided for g in gradients):
            return None
        if (found := self._reader(members).largest()) is not None:
            return self._queue.put(found.max(keepdims=True))
        norms = torch._foreach_norm([g.detach() for g in gradients], torch.inf)
        return self._queue.put(torch.stack([each.double() for each in norms]).amax())

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


def _is_plain(parameter: Tensor) -> bool:
    return not (hasattr(parameter, "to_local") or parameter.is_complex())
