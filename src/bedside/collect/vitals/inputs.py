"""The data as the model gets them: a fingerprint and the size of every batch, and more at sampled steps.

At every step: how large the first input is (from a slice of it), a number by which the batch can be recognised, and how
long the loop waited for it. On sampled steps: mean, spread and largest value of the first floating-point input, and
whether any input or target holds NaN or infinity.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.array_view import array_view
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import arrays_in, floating_in, tensors_in
from bedside.collect.reading.squared_norms import EXACT, as_row, square
from bedside.collect.reading.subsample import ELEMENTS, sample, spread
from bedside.record.missing import MISSING

SLICE = 4096  # elements of the batch behind `input_rms`: in one piece, which is read as fast as it can be
MARKS = 64  # elements behind the fingerprint, spread over the batch

EVERY_STEP = ("input_rms", "batch_fingerprint", "data_wait")
SAMPLED = ("input_mean", "input_std", "input_max", "nonfinite_inputs", "nonfinite_targets")

Number = float | PendingValue


class Inputs(Collector):
    """Looks at what goes into the model, and at the targets where they meet the predictions."""

    name = "inputs"
    vitals = (*EVERY_STEP, *SAMPLED)

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._now: list[Number] | None = None
        self._every: list[tuple[int, list[Number]]] = []
        self._due = False
        self._sampled: list[tuple[int, PendingValue]] = []
        self._statistics: Tensor | np.ndarray | None = None
        self._bad_targets: list[Tensor | float] = []
        self._turn = 0

    # The moments of every step.

    def forward_begins(self, forward: Forward) -> None:
        if self._now is not None or not self._is_training(forward):
            return
        ended = self.context.ended
        waited = time.perf_counter() - ended if ended is not None else MISSING
        given = list(tensors_in((forward.args, forward.kwargs)))
        batch = first_input(given)
        size, mark = (MISSING, MISSING) if batch is None else self._look(batch)
        self._now = [size, mark, waited]
        if self._due:
            self._due = False
            inputs = floating_in(given)
            if batch is not None and batch.is_floating_point():
                inputs = [batch, *(each for each in inputs if each is not batch)]
            self._statistics = statistics(inputs, self._turn)

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._statistics is None or not isinstance(target, Tensor) or not target.is_floating_point():
            return
        if isinstance(prediction, Tensor) and prediction.requires_grad:
            self._bad_targets.append(is_bad(target.detach()))

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        if self._now is not None:
            self._every.append((self.context.step, self._now))
            self._now = None

    # The sampled steps.

    def attach(self, step: int) -> None:
        self._due = True
        self._turn += 1

    def detach(self, step: int) -> None:
        self._due = False
        if self._statistics is not None:
            targets = total(self._bad_targets) if self._bad_targets else MISSING
            if isinstance(self._statistics, np.ndarray) and isinstance(targets, float):
                row: Tensor | np.ndarray = np.append(self._statistics, targets)
            else:
                statistics = torch.as_tensor(self._statistics)
                row = torch.cat([statistics, torch.as_tensor(targets, device=statistics.device).double().reshape(1)])
            self._sampled.append((step, self.queue.put(row)))
            self._statistics, self._bad_targets = None, []

    def rows(self) -> Iterable[RowSet]:
        every, self._every = self._every, []
        if every:
            values = np.asarray([[_number(each) for each in numbers] for _, numbers in every])
            yield RowSet("batches", [(v, "") for v in EVERY_STEP], [step for step, _ in every], values, "f8")
        sampled, self._sampled = self._sampled, []
        if sampled:
            values = np.stack([pending.numbers for _, pending in sampled])
            yield RowSet("inputs", [(v, "") for v in SAMPLED], [step for step, _ in sampled], values)

    def _is_training(self, forward: Forward) -> bool:
        usual = self.context.forward_hooks.training_mode
        return forward.grad and not forward.validating and (usual is None or forward.training == usual)

    def _look(self, batch: Tensor) -> tuple[Number, Number]:
        """Size and fingerprint: plain numbers on the CPU, where numpy takes two microseconds for both."""
        if batch.device.type != "cpu":
            size = self.queue.put(rms_on_device(batch, self.context.step)) if batch.is_floating_point() else MISSING
            return size, self.queue.put(fingerprint(batch))
        flat = _as_array(batch)
        size = _rms(flat, self.context.step) if batch.is_floating_point() else MISSING
        return size, _mark(flat[_positions(flat.size)])


def first_input(values: Any) -> Tensor | None:
    """The batch: the first floating-point tensor, or else the first one (tokens); a single number, a temperature or a
    noise level in a tensor of its own, only where there is nothing else."""
    given = [t for t in arrays_in(values) if not t.is_complex()]
    every = [t for t in given if t.numel() > 1] or given
    return next((t for t in every if t.is_floating_point()), every[0] if every else None)


def statistics(inputs: list[Tensor], turn: int) -> Tensor | np.ndarray | None:
    """Mean, spread and largest absolute value of the first, and how many of all hold NaN or infinity."""
    if not inputs:
        return None
    bad = total([is_bad(each.detach()) for each in inputs])
    if isinstance(bad, float):
        return _statistics_here(inputs[0], turn, bad)
    values = sample(inputs[0], turn).double()
    return torch.stack([values.mean(), values.std(correction=0), values.abs().max(), bad.to(values.device)])


def _statistics_here(batch: Tensor, turn: int, bad: float) -> np.ndarray:
    """The same on the CPU, where numpy takes a fifth of the time."""
    values = _some_of(batch, turn)
    with contextlib.nullcontext() if bad == 0 else np.errstate(all="ignore"):  # which takes long to set
        mean = np.add.reduce(values) / values.size
        apart = values - mean
        largest = max(np.maximum.reduce(values), -np.minimum.reduce(values))
    return np.asarray([mean, math.sqrt(np.vdot(apart, apart) / values.size), largest, bad])


def _some_of(batch: Tensor, turn: int) -> np.ndarray:
    if batch.is_contiguous() and batch.dtype in EXACT:  # what `sample` does, without torch
        flat = as_row(batch)
        first, stride, length = spread(flat.size, ELEMENTS, turn)
        return flat[first : first + length * stride : stride].astype(np.float64)
    return sample(batch, turn).double().numpy()


def is_bad(tensor: Tensor) -> Tensor | float:
    """Whether there is a NaN or an infinity anywhere: then their sum is not finite, nor is that of their squares (and
    sums read memory at full speed)."""
    if tensor.is_cpu:
        total = square(tensor) if tensor.dtype in EXACT else total_of(tensor).tolist()
        return float(not math.isfinite(total))
    return ~torch.isfinite(total_of(tensor))


def total(numbers: Sequence[Tensor | float]) -> Tensor | float:
    """Their sum, on a device if one of them lies there."""
    far = next((each.device for each in numbers if isinstance(each, Tensor)), None)
    if far is None:
        return float(sum(numbers))
    return torch.stack([torch.as_tensor(each, device=far).double() for each in numbers]).sum()


def total_of(tensor: Tensor) -> Tensor:
    return tensor.sum(dtype=torch.float32 if tensor.element_size() < 4 else None)


def fingerprint(batch: Tensor) -> Tensor:
    """The same number for the same batch, and for no other: a few elements, each with a weight of its own."""
    batch = batch.detach()
    flat = batch.view(-1) if batch.is_contiguous() else batch.reshape(-1)
    at = torch.as_tensor(_positions(flat.numel()), device=flat.device)
    return flat[at].double() @ torch.as_tensor(_weights(len(at)), device=flat.device)


def rms_on_device(batch: Tensor, turn: int) -> Tensor:
    flat = batch.detach().reshape(-1)
    start = (turn * SLICE) % max(1, flat.numel() - SLICE + 1)
    part = flat[start : start + SLICE]
    return torch.linalg.vector_norm(part, dtype=torch.float32) / part.numel() ** 0.5


def _as_array(batch: Tensor) -> np.ndarray:
    batch = batch.detach()
    batch = batch.float() if batch.dtype in (torch.bfloat16, torch.float16) else batch
    return array_view(batch).reshape(-1)


def _rms(flat: np.ndarray, turn: int) -> float:
    start = (turn * SLICE) % max(1, flat.size - SLICE + 1)
    part = flat[start : start + SLICE]
    return math.sqrt(np.vdot(part, part) / part.size)  # the product that does not warn


def _mark(elements: np.ndarray) -> float:
    return float(np.vdot(elements.astype(np.float64), _weights(len(elements))))


def _positions(size: int) -> np.ndarray:
    known = _POSITIONS.get(size)
    if known is None:
        if len(_POSITIONS) > 1000:  # batches of ever new lengths
            _POSITIONS.clear()
        known = _POSITIONS[size] = np.unique(np.linspace(0, size - 1, min(size, MARKS)).astype(np.int64))
    return known


_POSITIONS: dict[int, np.ndarray] = {}
_WEIGHTS = np.sqrt(np.arange(2.0, 2.0 + MARKS))  # no two sums of these agree by chance


def _weights(length: int) -> np.ndarray:
    return _WEIGHTS[:length]


def _number(value: Number) -> float:
    return value.number if isinstance(value, PendingValue) else value
