"""Steps at which nothing is due: the loss, the rate, the norm before clipping and the time, and nothing else.

At a step of a millisecond, listening costs no arithmetic but cold code: what was not touched since the last step has
left the caches (reading a loss takes 0.2 µs in a tight loop and 4 µs in training). So a quiet step has a way of its
own, with as few touches as can be, and the collectors hear nothing of it.

It is taken where the loop is plain: one optimizer, one backward a step, no scaler, no closure. Whatever is out of the
ordinary *wakes*: an evaluation, a second backward, a loss that is not finite, another monitor. Whoever is woken is told
what was missed of the step, so that the numbers are the same with and without quiet steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.collect.door import Entry
from bedside.collect.freight import reading

clock = time.perf_counter
Clip = tuple[float, float | Tensor]  # the threshold and the norm before, of a call over all gradients


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of quiet steps, one after the other."""

    first: int  # step
    began: float  # the end of the step before, by the clock
    epoch: float | None
    losses: Sequence[float | Tensor]
    ends: Sequence[float]
    rates: Sequence[Sequence[float]]  # per step, per group
    clips: Sequence[Clip | None]
    cleared: bool  # at every step the gradients were gone when backward began

    def __len__(self) -> int:
        return len(self.ends)


class Quiet:
    """Hears the quiet steps. `on`: this is one of them."""

    __slots__ = (
        "_at_hand", "_began", "_cleared", "_deadline", "_entries", "_epoch", "_failed", "_first", "_gradient", "_noted",
        "_optimizer", "_probe", "_room", "_value", "_version", "_wake", "call", "clip", "loss", "on", "spent",
    )  # fmt: skip

    def __init__(self, wake: Callable[[], None], failed: Callable[[Exception], None]) -> None:
        self.on = False
        self.loss: float | Tensor | None = None  # of this step, once heard
        self.call: tuple[str, Any, Any] | None = None  # of a loss function: its name and arguments, until backward
        self.clip: Clip | None = None
        self.spent = 0.0  # seconds, since the governor last looked
        self._wake = wake
        self._failed = failed
        self._first, self._began, self._epoch = 0, 0.0, None
        self._noted: list[tuple[Any, float, Sequence[float], Clip | None]] = []  # loss, end, rates, clip of a step
        self._cleared = True

    def __len__(self) -> int:
        """How many steps have been noted."""
        return len(self._noted)

    def listen_to(self, probe: nn.Parameter, optimizer: Optimizer, entries: Sequence[Entry], at_hand: bool) -> None:
        """Whose gradient tells that a backward was ours; whose rates to read; who keeps the batch of a step; and
        whether the loss can be read without waiting for a device."""
        self._probe, self._optimizer, self._entries = probe, optimizer, entries
        self._at_hand = at_hand

    def begin(self, step: int, ended: float, epoch: float | None, *, steps: int, deadline: float) -> None:
        """From this step on, all are quiet: so many at most, and none after the deadline."""
        self._first, self._began, self._epoch = step, ended, epoch
        self._room, self._deadline = steps, deadline
        self.on = True

    def take(self) -> Block:
        """The steps that are over; a quiet stretch that is under way goes on."""
        noted, self._noted = self._noted, []
        cleared, self._cleared = self._cleared, True
        losses, ends, rates, clips = zip(*noted, strict=True) if noted else ((), (), (), ())
        block = Block(self._first, self._began, self._epoch, losses, ends, rates, clips, cleared)
        if noted:
            self._first, self._began = self._first + len(noted), ends[-1]
            self._room -= len(noted)
        return block

    # The moments, in the order of the loop.

    def expects(self, tensors: Any, gradient: Any) -> bool:
        """Whether this backward is the one that a quiet step has; otherwise it wakes."""
        if not self.on:
            return False
        if self.loss is not None or gradient is not None or type(tensors) is not Tensor:
            self._wake()
            return False
        began = clock()
        if self._at_hand:
            value = tensors.tolist() if tensors.numel() == 1 else None
            value = value if type(value) is float or value is None else reading(tensors)
            if value is None or value - value != 0:
                self._wake()
                return False
            self._value = value
            self.call = None  # nobody will ask: the predictions need not wait for the backward pass to end
        self._gradient = gradient = self._probe.grad
        self.spent += clock() - began
        if gradient is not None:
            self._cleared = False  # perhaps in place: only steps that are listened to can tell
            self._version = gradient._version
        return True

    def heard(self, loss: Tensor) -> None:
        """That backward is over; ours, if the probe's gradient is another now."""
        began = clock()
        try:
            gradient = self._probe.grad
            if gradient is None or (gradient is self._gradient and gradient._version == self._version):
                return
            self._gradient = None
            self.loss = self._value if self._at_hand else loss.detach()
            self.call = None
        except Exception as error:
            self._failed(error)
        self.spent += clock() - began

    def stepped(self) -> bool:
        """A quiet step is over; says whether another may follow."""
        now = clock()
        groups = self._optimizer.param_groups
        rates = (groups[0]["lr"],) if len(groups) == 1 else tuple([group["lr"] for group in groups])
        self._noted.append((self.loss, now, rates, self.clip))
        self.loss = self.clip = None
        for entry in self._entries:
            entry.args = entry.kwargs = None
            entry.missed = 0
        self.spent += clock() - now
        return len(self._noted) < self._room and now < self._deadline
