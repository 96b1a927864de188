"""Buffers as they were before the first forward of a step: batch norm has already moved them when a step turns out bad.

Which buffers move is learnt in the first steps; only those are copied at each step, the others are read when needed.
The guard restores them when it skips a step: a running mean that is NaN once stays NaN for ever.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

LEARNING = 3  # steps at which all buffers are copied, to see which of them move
LOOK_AGAIN = 1000  # steps after which that is learnt again


class BuffersBefore:
    """Copies of the buffers that move in a forward."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._steps = 0
        self._moving: set[str] = set()
        self._buffers: dict[str, Tensor] = {}
        self._copies: dict[str, Tensor] = {}

    def step_begins(self) -> None:
        """The first forward of a step is about to run."""
        at = self._steps % LOOK_AGAIN
        self._steps += 1
        if at <= LEARNING:
            self._note_moving()
            self._buffers = self._filled()
        copied = self._buffers if at < LEARNING else self._moving
        self._copies = {name: self._buffers[name].detach().clone() for name in copied if name in self._buffers}

    def _filled(self) -> dict[str, Tensor]:
        """Those of a lazy module have no shape before its first forward."""
        return {name: each for name, each in self._model.named_buffers() if not is_lazy(each)}

    def before(self) -> dict[str, Tensor]:
        """Every buffer as it was when the step began, as far as that is known."""
        return {name: self._copies.get(name, each) for name, each in self._model.named_buffers()}

    def put_back(self, bad: bool | Tensor) -> None:
        """The step is skipped: restore what its forward moved. The flag is checked on the device it lives on."""
        with torch.no_grad():
            for name, each in self._model.named_buffers():
                if (copy := self._copies.get(name)) is None or each.shape != copy.shape:
                    continue
                each.copy_(copy if isinstance(bad, bool) else torch.where(bad.to(each.device) > 0, copy, each))

    def _note_moving(self) -> None:
        # By content: batch norm moves its running mean without a new version number.
        now = self._filled()
        for name, before in self._copies.items():
            if name not in now or now[name].shape != before.shape or not torch.equal(now[name], before):
                self._moving.add(name)
