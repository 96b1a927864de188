"""Buffers as they were before the first forward of a step: batch norm has moved them when a step is seen to be bad.

Which buffers move is learnt in the first steps; only those are copied at each step, the others are read when needed.
"""

from __future__ import annotations

from torch import Tensor, nn

LEARNING = 3  # steps at which all buffers are copied, to see which of them move
LOOK_AGAIN = 1000  # steps after which that is learnt anew


class BuffersBefore:
    """Copies of the buffers that move in a forward."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._steps = 0
        self._moving: set[str] = set()
        self._buffers: dict[str, Tensor] = {}
        self._versions: dict[str, int] = {}
        self._copies: dict[str, Tensor] = {}

    def step_begins(self) -> None:
        """The first forward of a step is about to run."""
        at = self._steps % LOOK_AGAIN
        self._steps += 1
        if at <= LEARNING:
            self._note_moving()
            self._buffers = dict(self._model.named_buffers())
            self._versions = {name: each._version for name, each in self._buffers.items()}
        copied = self._buffers if at < LEARNING else self._moving
        self._copies = {name: self._buffers[name].detach().clone() for name in copied if name in self._buffers}

    def before(self) -> dict[str, Tensor]:
        """Every buffer as it was when the step began, as far as that is known."""
        return {name: self._copies.get(name, each) for name, each in self._model.named_buffers()}

    def _note_moving(self) -> None:
        now = dict(self._model.named_buffers())
        for name, before in self._buffers.items():
            if name not in now or now[name] is not before or now[name]._version != self._versions[name]:
                self._moving.add(name)
