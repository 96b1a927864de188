"""The inputs of evaluations: mean, spread and largest value, to be compared with those of training.

A scaler that was fitted twice, or forgotten on one side, leaves no other trace than worse validation. The first forward
of an evaluation is read, and counts once a validation metric has been logged: forwards without gradients that belong to
no evaluation (sampling, a teacher, an actor) see other inputs by right. So does another network than the one that
training begins with: a generator is given noise, and its critic pictures.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import floating_in, tensors_in
from bedside.collect.vitals.inputs import statistics
from bedside.record.run import Event

MAX_LOOKS = 20  # evaluations: the pipeline does not change later


class EvaluationInputs(Collector):
    """Reads the first batch of the first evaluations."""

    name = "evaluation inputs"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._looked = 0
        self._trained: tuple[int, Any] = (-1, None)  # a step, and the module that its first training forward called
        self._read: tuple[int, int, Any] | None = None  # step, numbers in the batch, its statistics
        self._waiting: list[tuple[int, int, PendingValue]] = []

    def forward_begins(self, forward: Forward) -> None:
        evaluates = forward.validating or not forward.grad
        if evaluates and not forward.training and self.context.step > 0:
            self.context.facts.setdefault("first_evaluation", self.context.step)
        if self._looked >= MAX_LOOKS:
            return
        if not evaluates:
            if self._trained[0] != self.context.step:
                self._trained = (self.context.step, forward.module)
            return
        if forward.module is not self._trained[1]:
            return
        if self._read is not None and self._read[0] == self.context.step:
            return
        inputs = floating_in(list(tensors_in((forward.args, forward.kwargs))))
        if inputs and inputs[0].dim():
            self._read = (self.context.step, inputs[0].numel(), statistics(inputs[:1], 0))

    def metrics_logged(self, vitals: Sequence[str]) -> None:
        read, self._read = self._read, None
        if read is not None and any(vital.startswith("val/") for vital in vitals):
            step, size, numbers = read
            self._looked += 1
            self._waiting.append((step, size, self.queue.put(torch.as_tensor(numbers))))

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, size, pending in waiting:
            mean, spread, largest, bad = (float(number) for number in pending.numbers)
            facts = {"mean": mean, "std": spread, "max": largest, "nonfinite": bad > 0, "size": size}
            yield Event(step, "evaluation_input", facts, time.time())
