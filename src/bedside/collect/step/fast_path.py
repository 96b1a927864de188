"""The fast path: steps at which nothing is due but the loss, the learning rate, the norm before clipping and the time.

At steps of a millisecond, the cost of watching is not arithmetic but cold code: whatever was not used since the last
step has left the caches (reading a loss takes 0.2 µs in a tight loop and 4 µs in training). So fast-path steps have
their own code, which touches as little as possible, and collectors are not called. Even its cost is timed only at every
sixteenth step, and at another sixteenth the gradient is checked: whether it was cleared before this backward, and
whether the backward was ours.

Where norms are read at every step and there is no other observer, they are read here as well.

It is taken where the loop is plain (see `fast_path_control.py`): one optimizer, one backward a step, no scaler, no
closure. Whatever is out of the ordinary *leaves the fast path*: an evaluation, a second backward, a loss that is not
finite, another monitor. When the fast path is left in the middle of a step, collectors get what they missed of it, so
that the numbers are the same with and without fast-path steps.

The fast path only answers questions; it calls no other part. It is asked by the dispatcher, which owns the optimizer's
hooks, and by the replaced torch functions (`hooks/torch_patches.py`). If it cannot handle a moment of the loop, the
fast path is left and the full reading is done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from threading import get_ident
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.collect.hooks.called_modules import CalledModule
from bedside.collect.model.parameter_layout import Layout
from bedside.collect.reading.device_queue import reading
from bedside.collect.reading.norm_reader import ReadAtOnce, Reader, Reading
from bedside.collect.step.clipping import members_of
from bedside.errors import pass_on_interrupts

CHECK_INTERVAL = 16  # one step in so many is timed, to know what fast-path steps cost, and one is looked at closely

clock = time.perf_counter
State = tuple[Tensor | None, int]
Clip = tuple[float, float | Tensor]  # the threshold and the norm before, of a call over all gradients


class StepEnd(IntEnum):
    """The fast path's answer when an optimizer's step is over. The usual one is 0: nothing is left to do."""

    TAKEN = 0
    LAST = 1  # it was a fast-path step, and the last one: something is due again
    LEAVE = 2  # it is not a fast-path step after all, and its beginning was not observed
    OFF = 3  # the fast path is not active: an ordinary step
    FAILED = 4  # reading it failed; see `error`


TAKEN, LAST, LEAVE, OFF, FAILED = StepEnd


@dataclass(frozen=True, slots=True)
class FastSteps:
    """Consecutive fast-path steps, one after the other."""

    first: int  # step
    began: float  # the end of the step before, by the clock
    epoch: float | None
    losses: Sequence[float | Tensor]
    ends: Sequence[float]
    rates: Sequence[float | Sequence[float]]  # per step: of the only group, or of each
    clips: Sequence[Clip | None]  # none at all, if nobody clipped
    layout: Layout | None = None  # of what was read, if anything was
    readings: Sequence[Reading | ReadAtOnce] = ()

    def __len__(self) -> int:
        return len(self.ends)


class FastPath:
    """Handles fast-path steps, and decides whether an optimizer's step is one. `on`: the current step is one."""

    __slots__ = (
        "_after", "_began", "_begun", "_called_modules", "_check_closely", "_clips", "_deadline", "_ends", "_epoch",
        "_first", "_grads_kept", "_layout", "_losses", "_on_cpu", "_optimizer", "_probe", "_rates", "_reader",
        "_readings", "_room", "_timed", "_turn", "active", "call", "clip", "error", "loss", "not_zeroed", "spent",
        "thread", "unconfirmed",
    )  # fmt: skip

    def __init__(self) -> None:
        self.active = False
        self.loss: float | Tensor | None = None  # of this step, once known; perhaps of another model's backward
        self.unconfirmed: tuple[float | Tensor, Tensor, int] | None = (
            None  # a loss, and the gradient before its backward
        )
        self.call: tuple[str, Any, Any] | None = None  # of a loss function: its name and arguments, until backward
        self.clip: Clip | None = None
        self.spent = 0.0  # seconds, since the budget was last updated
        self.error: Exception | None = None  # why reading at a fast-path step failed
        self._reader: Reader | None = None
        self._first, self._began = 0, 0.0
        self._epoch: float | None = None
        self.thread = 0  # that trains
        self.not_zeroed = False  # the fast path was left since gradients were unexpectedly there before a backward
        self._grads_kept = False
        self._after: tuple[Any, int] = (None, -1)  # the probe's gradient after the last step, and its version
        self._turn = 0
        self._timed = False
        self._begun = False  # the beginning of this step was observed, and it was a fast-path step's
        self._forget()

    def _forget(self) -> None:
        self._losses: list[Any] = []
        self._ends: list[float] = []
        self._rates: list[float | Sequence[float]] = []
        self._clips: list[Clip | None] = []
        self._readings: list[Reading | ReadAtOnce] = []
        self._check_closely = True

    @property
    def awaits_gradients(self) -> bool:
        """Whether the gradients of the current step are still to be read."""
        return self._reader is not None and not self._begun

    def __len__(self) -> int:
        """How many steps have been noted."""
        return len(self._ends)

    def configure(
        self,
        layout: Layout,
        probe: nn.Parameter,
        optimizer: Optimizer,
        called_modules: Sequence[CalledModule],
        on_cpu: bool,
        thread: int,
        grads_kept: bool,
    ) -> None:
        """The parameters; whose gradient tells that a backward was ours; whose rates to read; who keeps the batch of a
        step; whether the loss can be read without waiting for a device; which thread trains; and whether gradients of
        the step before are still there when backward begins (zeroed in place, it is hoped)."""
        self._layout, self._probe, self._optimizer, self._called_modules = layout, probe, optimizer, called_modules
        self._on_cpu, self.thread = on_cpu, thread
        self._grads_kept = grads_kept
        self._after = (None, -1)
        self._reader = None

    def read_norms_with(self, reader: Reader) -> None:
        """Gradients, and perhaps updates, are read at every fast-path step; said after `listen_to`."""
        self._reader = reader

    def start(self, step: int, ended: float, epoch: float | None, *, steps: int, deadline: float) -> None:
        """From this step on, all steps take the fast path: at most this many, and none after the deadline."""
        self._first, self._began, self._epoch = step, ended, epoch
        self._room, self._deadline = steps, deadline
        self._begun = False
        self.active = True

    def take_steps(self) -> FastSteps:
        """The steps that are over; a fast path that is under way goes on."""
        block = FastSteps(
            self._first, self._began, self._epoch, self._losses, self._ends, self._rates, self._clips,
            self._layout if self._readings else None, self._readings,
        )  # fmt: skip
        self._forget()
        if len(block):
            self._first, self._began = self._first + len(block), block.ends[-1]
            self._room -= len(block)
        return block

    # The moments, in the order of the loop.

    def takes_backward(self, tensors: Any, gradient: Any) -> bool:
        """Whether this backward is the one that a fast-path step has; otherwise the fast path has to be left, unless it
        belongs to another thread."""
        if get_ident() != self.thread:
            return False
        second = self.loss is not None and self.own_loss is not None
        if second or gradient is not None or type(tensors) is not Tensor:
            return False
        began = clock() if self._timed else 0.0
        if self._on_cpu:
            value = tensors.tolist()  # a number: backward refuses whatever is more than one
            if type(value) is not float:
                value = reading(tensors) if tensors.numel() == 1 else math.nan
            if value - value != 0:
                return False
        else:
            value = tensors.detach()
        old: Any = self._probe.grad
        if old is None:  # then whether this one is ours is asked when the optimizer has looked at its gradient
            self.loss, self.unconfirmed = value, None
        elif not self._grads_kept or (old is self._after[0] and old._version == self._after[1]):
            self.not_zeroed = True  # or zeroed in another way than before; whoever observes the next steps will know
            return False
        else:
            self.unconfirmed = (value, old, old._version)
        if self._timed:
            self.spent += CHECK_INTERVAL * (clock() - began)
        # The predictions are not needed any more, so they need not wait for the backward pass to end. Untimed: freeing
        # large ones takes milliseconds, but the loop would have had to free them in any case.
        self.call = None
        return True

    def confirm(self) -> None:
        """A backward that met an old gradient is over; it was ours if that has changed."""
        assert self.unconfirmed is not None
        (value, before, version), self.unconfirmed = self.unconfirmed, None
        gradient = self._probe.grad
        if gradient is not None and (gradient is not before or gradient._version != version):
            self.loss = value

    def clipped(self, parameters: Sequence[Tensor], max_norm: float, total: Any) -> bool:
        """A clip call; says whether it was the one that a fast-path step has, over all gradients."""
        began = clock() if self._timed else 0.0
        if self.clip is not None or not isinstance(total, Tensor) or members_of(parameters, self._layout) is not None:
            return False
        self.clip = (float(max_norm), reading(total))
        if self._timed:
            self.spent += CHECK_INTERVAL * (clock() - began)
        return True

    @property
    def after_last_step(self) -> tuple[nn.Parameter, State]:
        """The probe, and what is known of its gradient after the last step."""
        return self._probe, self._after

    @property
    def own_loss(self) -> float | Tensor | None:
        """The loss of this step, unless it was somebody else's: then our gradient is still none."""
        return self.loss if self._probe.grad is not None else None

    def takes_step_begin(self) -> bool:
        """Asked while it is active, at steps whose beginning is observed: whether a backward of ours came before it;
        otherwise the fast path has to be left. What failed is in `error`."""
        if self.loss is None or self._probe.grad is None:
            return False
        self._begun = True
        if self._reader is not None:
            self._read_before(self._reader)
        return True

    def takes_step_end(self) -> StepEnd:
        """Asked at all steps, also where it is not active; a fast-path step is noted."""
        if self._check_closely or self.loss is None or self._probe.grad is None:  # not taken for granted
            refused = self._refuses_step_end()
            if refused:
                return refused
        now = clock()
        groups = self._optimizer.param_groups
        self._losses.append(self.loss)
        self._ends.append(now)
        self._rates.append(groups[0]["lr"] if len(groups) == 1 else [group["lr"] for group in groups])
        if self.clip is not None or self._clips:
            self._note_clip()
        self.loss = None
        for called in self._called_modules:
            called.args = called.kwargs = None
            called.skipped = 0
        if self._grads_kept and (gradient := self._probe.grad) is not None:
            self._after = (gradient, gradient._version)
        count = len(self._ends)
        if self._timed:
            self.spent += CHECK_INTERVAL * (clock() - now)
        self._turn = turn = (self._turn + 1) % CHECK_INTERVAL  # over stretches of any length
        self._timed = turn == 1
        self._check_closely = turn == 0 or self._grads_kept or self._reader is not None
        return LAST if count >= self._room or now >= self._deadline else TAKEN

    def _refuses_step_end(self) -> StepEnd:
        """Why the step that is over was not a fast-path step; `TAKEN` if it was one."""
        begun, self._begun = self._begun, False
        if not self.active:
            return OFF
        if not begun and (self.loss is None or self._probe.grad is None):
            return LEAVE  # no backward of ours came before it
        return TAKEN if self._reader is None or self._read_after(self._reader) else FAILED

    def _read_before(self, reader: Reader) -> None:
        began = clock()
        try:
            reader.before(self._first + len(self._ends))
        except Exception as error:
            pass_on_interrupts(error)
            self.error = error
        self.spent += clock() - began

    def _read_after(self, reader: Reader) -> bool:
        """Says whether it could be done."""
        began = clock()
        try:
            self._readings.append(reader.after(self._first + len(self._ends)))
        except Exception as error:
            pass_on_interrupts(error)
            self.error = error
            return False
        self.spent += clock() - began
        return True

    def _note_clip(self) -> None:
        """Clips begin with the first step that has one."""
        self._clips += [None] * (len(self._ends) - 1 - len(self._clips))
        self._clips.append(self.clip)
        self.clip = None
