"""How the loop is written: the mode and grad mode of every forward, steps without gradients, clipping too early.

A training forward is one that a backward follows. A forward inside `with monitor.validation():`, or without gradients,
or in evaluation mode when training forwards are not, belongs to an evaluation; if a validation metric is logged before
training goes on, that is certain. What looks wrong is recorded as events: the first time, and then each time its count
has doubled, with the totals so far.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import numpy as np
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.model.mode_dependent import keeps_statistics, kinds, mode_dependent, trained
from bedside.collect.reading.second_derivatives import is_derivative
from bedside.record.run import Event

KEPT = 50  # passes whose length and distance are remembered: enough for a median


class Tally:
    """One kind of event: recorded after 1, 2, 4, 8 … times, and with its final totals when watching ends."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.count = 0
        self.confirmed = 0
        self.facts: dict[str, Any] = {}
        self._step = 0
        self._reported = 0

    def add(self, step: int, confirmed: bool = True, **facts: Any) -> None:
        self.count += 1
        self.confirmed += confirmed
        self._step = step
        self.facts.setdefault("first_step", step)
        self.facts.update(facts)

    def news(self, final: bool) -> list[Event]:
        if self.count == self._reported or (not final and self.count < 2 * self._reported):
            return []
        self._reported = self.count
        return [
            Event(self._step, self.kind, {**self.facts, "count": self.count, "confirmed": self.confirmed}, time.time())
        ]


class Pass:
    """The forwards of one evaluation."""

    def __init__(self) -> None:
        self.forwards = self.in_train_mode = self.with_gradients = 0
        self.confirmed = False

    def add(self, training: bool, grad: bool) -> None:
        self.forwards += 1
        self.in_train_mode += training
        self.with_gradients += grad


class Loop(Collector):
    """Observes every forward, backward, clip and step; reads no tensor."""

    name = "loop"
    sampled = False
    vitals = ("eval_mode", "training_forwards")

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        dependent = mode_dependent(context.model)
        self._dependent = dependent
        self._kinds = kinds(dependent)
        self._statistics = keeps_statistics(dependent)
        self._differentiates: bool | None = None  # the model itself, so that it needs a graph in evaluations too
        self._waiting: list[bool] = []  # the modes of forwards with gradients that had no backward yet
        self._pass = Pass()
        self._last_pass_step = 0
        self._lengths: list[int] = []
        self._distances: list[int] = []
        self._passes = 0
        self._training: list[bool] = []  # the mode of this step's training forwards
        self._steps: list[int] = []
        self._values: list[tuple[float, float]] = []
        self._ended = False
        self._train_mode = Tally("validation_in_train_mode")
        self._gradients = Tally("validation_with_gradients")
        self._empty = Tally("empty_step")
        self._scaled = Tally("clipped_scaled")
        self._mode: bool | None = None
        self._changes: list[Event] = []

    # The moments.

    def forward_begins(self, forward: Forward) -> None:
        if forward.validating or not forward.grad:
            self._pass.add(forward.training, forward.grad)
            self._pass.confirmed |= forward.validating
        else:
            self._waiting.append(forward.training)

    def forward_ended(self, output: Any) -> None:
        if self._differentiates is None and self._waiting:
            self._differentiates = is_derivative(output)

    def metrics_logged(self, vitals: Sequence[str]) -> None:
        if any(vital.startswith("val/") for vital in vitals):
            for training in self._waiting:  # no backward came, but a validation metric did
                self._pass.add(training, True)
            self._waiting.clear()
            self._pass.confirmed = self._pass.forwards > 0

    def backward_ended(self, ours: bool) -> None:
        if ours and self._waiting:
            own = self._waiting.pop()
            self._training.append(own)
            self._leave_waiting(training_mode=own)
            self._end_pass()

    def clipped(self, parameters: Sequence[Tensor], max_norm: float, total_norm: Tensor) -> None:
        scaler = self.context.scaler
        if scaler is None or not scaler.is_enabled() or not parameters:
            return
        first = parameters[0]
        for optimizer in self.context.optimizers:
            holds = any(p is first for group in optimizer.param_groups for p in group["params"])
            stage = scaler._per_optimizer_states.get(id(optimizer), {}).get("stage")
            if holds and (stage is None or stage.name == "READY"):
                self._scaled.add(self.context.step, max_norm=float(max_norm))

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        if not closure and not _has_gradient(optimizer):
            self._empty.add(self.context.step, optimizer=type(optimizer).__name__)

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        if closure and not _has_gradient(optimizer):
            self._empty.add(self.context.step, optimizer=type(optimizer).__name__)
        if self._training:
            step = self.context.step
            evaluating = not all(self._training)
            self._steps.append(step)
            self._values.append((float(evaluating), float(len(self._training))))
            self._training.clear()
            if evaluating is not self._mode:
                self._mode = evaluating
                in_training = kinds(trained(self.model, self._dependent))
                facts = {"training_forwards": "eval" if evaluating else "train", "mode_dependent": in_training}
                facts["frozen"] = [kind for kind in self._kinds if kind not in in_training]
                self._changes.append(Event(step, "mode", facts, time.time()))

    # Evaluations.

    def _leave_waiting(self, training_mode: bool) -> None:
        """What waited in evaluation mode, while training forwards do not, was an evaluation that kept its graph."""
        if training_mode:
            for _ in range(self._waiting.count(False)):
                self._pass.add(False, True)
        self._waiting.clear()

    def _end_pass(self) -> None:
        """Training goes on: what was observed of the evaluation before it?"""
        observed, self._pass = self._pass, Pass()
        if not observed.forwards:
            return
        step = self.context.step
        self._passes += 1
        self._lengths = [*self._lengths[-KEPT:], observed.forwards]
        self._distances = [*self._distances[-KEPT:], step - self._last_pass_step]
        self._last_pass_step = step
        habits = {
            "passes": self._passes,
            "forwards_per_pass": median(self._lengths),
            "steps_between": median(self._distances),
        }
        if observed.in_train_mode == observed.forwards:
            kinds_here = {"mode_dependent": self._kinds, "keeps_statistics": self._statistics}
            self._train_mode.add(step, observed.confirmed, **habits, **kinds_here)
        if observed.with_gradients == observed.forwards and not self._differentiates:
            self._gradients.add(step, observed.confirmed, **habits)

    # What the record gets.

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._leave_waiting(training_mode=bool(self.context.forward_hooks.training_mode))
            self._end_pass()

    def rows(self) -> Iterable[RowSet]:
        if self._steps:
            columns = [("eval_mode", ""), ("training_forwards", "")]
            yield RowSet("loop", columns, self._steps, np.asarray(self._values))
            self._steps, self._values = [], []

    def events(self) -> Iterable[Event]:
        changes, self._changes = self._changes, []
        yield from changes
        for tally in (self._train_mode, self._gradients, self._empty, self._scaled):
            yield from tally.news(self._ended)


def _has_gradient(optimizer: Optimizer) -> bool:
    return any(p.grad is not None for group in optimizer.param_groups for p in group["params"])
