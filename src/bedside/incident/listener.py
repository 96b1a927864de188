"""Follows the moments of every step for the black box and the guard, and keeps the steps that go wrong.

It is a collector like any other, so one that fails is switched off and the training goes on. The black box and the
guard against spikes have to follow every step, so they disable the fast path.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import Collector
from bedside.errors import pass_on_interrupts
from bedside.incident.black_box import BlackBox
from bedside.incident.capture.buffers import BuffersBefore
from bedside.incident.capture.capture import Training, Trigger, capture
from bedside.incident.capture.history import last_steps
from bedside.incident.capture.loader_batches import listen, stop
from bedside.incident.capture.micro_batches import MicroBatches
from bedside.incident.capture.step_check import StepCheck
from bedside.incident.folder import write, write_vitals
from bedside.incident.guard.decisions import Decisions
from bedside.record.run import Event, Run
from bedside.stderr import say, warn_safely
from bedside.wording import count, number

KIND = "incident"  # of the event in the record
MAX_FAILURES = 3  # incidents that could not be written, after which no more are tried


class IncidentListener(Collector):
    """The step under way, by reference; written when it turns out to be bad."""

    name = "black box"
    sampled = False

    def __init__(
        self,
        context: Any,
        check: StepCheck,
        black_box: BlackBox | None,
        run_dir: Path,
        announce: Callable[[str], None] = say,
    ) -> None:
        super().__init__(context)
        self.needs_every_step = black_box is not None or check.needs_every_step
        self._announce = announce
        self._check = check
        self._box = black_box
        self._run_dir = run_dir
        self._micro_batches = MicroBatches()
        self.buffers = BuffersBefore(context.model)
        self._schedulers: list[Any] = []
        self._coming: Sequence[float | Tensor] = ()  # losses of the backward that is under way
        self.inputs: Any = None  # of the last forward, until the step is over
        self._step = -1  # the one that is followed
        self._bad_step = -2  # the last one that was bad
        self._kept = self._failures = 0
        self._seen: BaseException | None = None  # the last exception that was kept
        self._news: list[Event] = []
        self.without_history: list[Path] = []  # incidents whose vitals are still to be written
        self.decisions: Decisions | None = None  # the guard's, where there is one
        if black_box is not None:
            listen(self._micro_batches.batch_loaded)

    def end(self) -> None:
        stop(self._micro_batches.batch_loaded)
        self._micro_batches.forget()

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news + (self.decisions.events() if self.decisions is not None else [])

    # The moments, in the order of the loop.

    def forward_begins(self, forward: Any) -> None:
        if not forward.grad or forward.validating:
            return
        if self._step != self.context.step:
            self._begin()
        first = self.inputs is None
        self.inputs = (forward.args, forward.kwargs)
        if self._box is not None:
            if first:
                self.buffers.step_begins()
            self._micro_batches.forward_begins(forward.args, forward.kwargs or {}, forward.autocast)

    def forward_ended(self, output: Any) -> None:
        """Without an output, while an exception is under way, the forward failed."""
        error = sys.exc_info()[1]
        if self._box is not None and output is None and error is not None:
            self.failed(error)

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._box is not None:
            self._micro_batches.loss_computed(function, target)

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        if self._step != self.context.step:
            self._begin()
        self._coming = losses
        finished = len(self._check.losses)
        if finished and all(each.grad is None for each in self.context.layout.parameters):
            self._micro_batches.discard_finished()  # what they gave was thrown away before anybody stepped
            self._check.losses = []

    def backward_ended(self, ours: bool) -> None:
        losses, self._coming = self._coming, ()
        if not ours or not losses:
            return
        self._check.losses += losses
        if self._box is None:
            return
        self._micro_batches.backward_ended(losses)
        bad = [float(each) for each in losses if not torch.isfinite(torch.as_tensor(each))]
        if bad:
            self._keep(Trigger("nonfinite loss", f"the loss is {number(bad[0])}.", {"loss": bad[0]}))

    def clipped(self, parameters: Sequence[Tensor], max_norm: float, total_norm: Tensor) -> None:
        """Before anything is clipped."""
        held = sum(len(group["params"]) for optimizer in self.context.optimizers for group in optimizer.param_groups)
        if len(parameters) >= held:
            self._check.norm = total_norm.detach().clone()
        if self._box is not None and len(self.context.optimizers) == 1:
            self._look(self.context.optimizers[0])

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        if self._box is not None and not closure:
            self._look(optimizer)

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        if self._box is not None and closure:
            self._look(optimizer)  # its gradients were computed within the step
        self._begin()
        self._step = -1

    def scheduler_stepped(self, scheduler: Any) -> None:
        if not any(each is scheduler for each in self._schedulers):
            self._schedulers.append(scheduler)

    def failed(self, error: BaseException) -> None:
        """An exception of the user's training, in the forward, the backward or between them."""
        if self._box is None or error is self._seen or not len(self._micro_batches):
            return
        if isinstance(error, Exception) and not _is_ours(error):
            self._seen = error
            memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
            kind = "out of memory" if memory else "exception"
            said = str(error).partition("\n")[0]
            self._keep(Trigger(kind, f"{type(error).__name__}: {said}", error=error))

    def add_history(self, run: Callable[[], Run]) -> None:
        """The numbers up to the incident have been recorded: store those of the last steps with it."""
        folders, self.without_history = self.without_history, []
        for folder in folders:
            try:
                write_vitals(folder, last_steps(run(), self._box.history if self._box is not None else 0))
            except Exception as error:
                pass_on_interrupts(error)
                warn_safely(f"bedside could not add the vitals to {folder} ({type(error).__name__}: {error}).")

    # What is done with them.

    def _begin(self) -> None:
        self._step = self.context.step
        self._micro_batches.forget()
        self._check.begin()
        self.inputs = None

    def _look(self, optimizer: Optimizer) -> None:
        scaler = self.context.scaler
        if scaler is not None and scaler.is_enabled():  # infinities are how it finds its scale
            return
        nonfinite, spikes = self._check.answer(optimizer)
        if bool(nonfinite):
            self._keep(Trigger("nonfinite gradient", "the gradient is not finite."))
            return
        for series, flag in spikes.items():
            if bool(flag):
                self._keep(self._spike(series))
                return

    def _spike(self, series: str) -> Trigger:
        losses = [float(each) for each in self._check.losses]
        value = sum(losses) / len(losses) if series == "loss" else float(self._check.norm or 0.0)
        usual, limit = self._check.usual(series)
        what = f"the {series} is {number(value)}, where {number(usual)} was usual."
        return Trigger("spike", what, {"series": series, "value": value, "usual": usual, "limit": limit})

    def _keep(self, trigger: Trigger) -> None:
        """Once for every row of bad steps, and no more often than was asked for."""
        step = self.context.step
        follows, self._bad_step = step <= self._bad_step + 1, step
        assert self._box is not None
        if (follows and trigger.error is None) or self._kept >= self._box.keep or self._failures >= MAX_FAILURES:
            return
        try:
            folder = self._write(trigger)
        except Exception as error:  # a full disk, a batch that cannot be read: the training goes on
            pass_on_interrupts(error)
            self._failures += 1
            warn_safely(f"bedside could not keep step {step} ({type(error).__name__}: {error}).")
            return
        self._kept += 1
        self.without_history.append(folder)
        data = {"kind": trigger.kind, "what": trigger.what, "folder": folder.name}
        self._news.append(Event(step, KIND, data, time.time()))
        self._announce(
            f"bedside: step {count(step)} is kept: {trigger.what} Look at it again: bedside replay {folder} --script …"
        )

    def _write(self, trigger: Trigger) -> Path:
        context, box = self.context, self._box
        assert box is not None
        buffers = self.buffers.before()
        training = Training(context.model, context.optimizers, context.scaler, self._schedulers, buffers)
        captured = capture(
            trigger, training, list(self._micro_batches), step=context.step, rank=context.rank, redact=box.redact
        )
        return write(captured, self._run_dir, box.max_bytes)


def _is_ours(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "bedside"
