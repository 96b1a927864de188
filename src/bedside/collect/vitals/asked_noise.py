"""Denoising models: is what they are asked for the noise in their input, does it match the time step?

A diffusion model is given a noisy sample and a time step, and asked for the noise. How much of a sample is noise shows
in the correlation between the two: next to nothing at the first time step, all at the last, and it goes with the time
step. Read from the first batches whose targets are plainly noise: drawn from a normal distribution of mean zero and
spread one, each number by itself. A model that is told a time step and asked for its own input has nothing to tell.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import tensors_in
from bedside.collect.reading.noise_share import COLUMNS, TOGETHER, in_groups, is_noise, noise_shown, side_by_side
from bedside.collect.vitals.inputs import first_input
from bedside.collect.vitals.narrowest_layer import narrowest
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed

LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
MIN_COLUMNS = 16  # of a sample: the correlation of fewer is luck
ROWS = 64  # of a batch
POINTS = 256  # of a batch of small samples
SAMPLES = 256  # looked at, together: time steps from all over the schedule
GROUPS = 16  # of small samples: the luck of all together is that of 256 samples of 16 numbers
MAX_LOOKS = 64  # batches: of a few samples each


class Told(NamedTuple):
    """What else is known of a batch, without looking at its numbers."""

    time: bool  # there is a number for each sample beside it
    narrowest: int  # place that answers pass through; 0: unknown


class AskedNoise(Collector):
    """Correlates each noisy sample with the noise the model is asked for."""

    name = "asked noise"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._looks = 0
        self._forward: Forward | None = None
        self._waiting: list[tuple[PendingValue, int, Told]] = []
        self._seen: list[np.ndarray] = []  # correlation, size and time step of each sample
        self._points: list[np.ndarray] = []  # small samples: what was given, what was asked for, and the time step
        self._columns = 0  # of a sample, that were compared
        self._done = False

    def attach(self, step: int) -> None:
        self._due = not self._done and self._looks < MAX_LOOKS

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            self._forward = forward

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        forward, self._forward = self._forward, None
        if forward is None or function not in LOSSES or not isinstance(prediction, Tensor):
            return
        if not isinstance(target, Tensor) or target.requires_grad or not prediction.requires_grad:
            return
        if target.shape != prediction.shape or target.dim() < 2 or target[0].numel() < 2:
            return
        found = noisy_batch(forward, target)
        columns = min(target[0].numel(), COLUMNS)
        if found is None or (self._columns and columns != self._columns):
            return
        batch, times = found
        small = columns < MIN_COLUMNS
        if small and times is None:
            return  # any task that asks for as many numbers as it gives
        self._due = False
        self._looks += 1
        self._columns = columns
        rows = min(len(batch), POINTS if small else ROWS)
        if small and times is not None:
            parts = (batch[:rows], target[:rows], times[:rows])
            table = torch.cat([each.detach().reshape(rows, -1).to(batch.device).double() for each in parts], 1)
        else:
            table = side_by_side(batch.detach()[:rows], target[:rows], None if times is None else times[:rows])
        same = (batch.detach()[:rows] == target[:rows]).all().double().reshape(1)
        told = Told(times is not None, narrowest(prediction))
        self._waiting.append((self.queue.put(torch.cat([same.to(table.device), table.reshape(-1)])), rows, told))

    def detach(self, step: int) -> None:
        self._due, self._forward = False, None

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for pending, rows, told in waiting:
            same, numbers = bool(pending.numbers[0]), pending.numbers[1:]
            if same and not self._done:
                self._done = True
                if told.time:
                    facts = {"columns": self._columns, "narrowest": told.narrowest}
                    yield Event(self.context.step, "asked_for_its_input", facts, time.time())
            elif self._columns < MIN_COLUMNS:
                self._points.append(numbers.reshape(rows, -1))
            else:
                self._judge(numbers[:4], numbers[4:].reshape(3, rows))
        samples = sum(map(len, self._points)) or sum(each.shape[1] for each in self._seen)
        needed = -(-GROUPS * TOGETHER // self._columns) if self._points else SAMPLES
        if self._points and samples >= needed and not self._done:
            self._judge(*in_groups(np.concatenate(self._points)))
        if samples >= needed and not self._done:
            self._done = True
            facts = {"columns": self._columns, "samples": samples, **noise_shown(np.concatenate(self._seen, 1))}
            yield Event(self.context.step, "asked_noise", facts, time.time())

    def _judge(self, moments: np.ndarray, table: np.ndarray) -> None:
        if not self._done and is_noise(*moments) and np.isfinite(table[:2]).all():
            self._seen.append(table)
        else:  # a target of another kind
            self._done = True


def noisy_batch(forward: Forward, target: Tensor) -> tuple[Tensor, Tensor | None] | None:
    """The samples that a forward was given in the shape of its target, and a number for each beside them: the time
    step, which may stand behind the numbers of each sample as one more."""
    given = tensors_in((forward.args, forward.kwargs))
    batch = first_input((forward.args, forward.kwargs))
    if batch is None or is_freed(batch) or not batch.is_floating_point():
        return None
    if batch.shape == target.shape:
        times = [each for each in given if each is not batch and each.numel() == len(batch) and not is_freed(each)]
        return batch, times[0].reshape(-1) if times else None
    if batch.dim() == target.dim() == 2 and batch.shape == (len(target), target.shape[1] + 1):
        return batch[:, :-1], batch[:, -1]
    return None
