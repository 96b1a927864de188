"""Dead units: units of a ReLU-like layer that none of many samples has activated.

Dead is a property of a unit over many batches, not of one: in a healthy ReLU layer half of all outputs are zero, and a
unit that is inactive for one batch may be active for the next. So for every unit we count how many positions (samples,
pixels, tokens) have passed since it was last active (`unit_inactivity.py`).

Outputs are kept while the forward runs and looked at when it is over, those of one batch side by side. One that is
overwritten before that is noticed by its version; then the sample is dropped, and from then on outputs are copied.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.function_calls import FunctionCalls
from bedside.collect.hooks.module_outputs import keeping_cost
from bedside.collect.model.nonlinearities import DYING, Numbered, call_name
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.shards import is_sharded
from bedside.collect.reading.array_view import array_view
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import NoGradients
from bedside.collect.reading.unit_axis import unit_axis
from bedside.collect.reading.unit_inactivity import Layer, Sample, UnitInactivity, end_to_end
from bedside.record.missing import MISSING
from bedside.record.run import Key
from bedside.training.freed_tensors import is_freed

ELEMENTS = 1 << 16  # looked at per layer and sample
VITALS = ("dead_fraction", "dead_units", "dying_units", "alive_units")


class Call(NamedTuple):
    """Of a ReLU-like function."""

    module: nn.Module | None  # that called it
    function: str
    output: Tensor
    version: int | None  # None: nobody can overwrite it


class DeadUnits(Collector):
    """Observes every call of a ReLU-like function in a sampled forward."""

    name = "dead_units"
    vitals = VITALS

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._function_calls = FunctionCalls(DYING, self._observed)
        self._names: dict[int, str] = {}
        self._calls: list[Call] = []
        self._copies = False  # outputs are overwritten before the forward is over
        self._plan: Plan | None = None
        self._inactivity = UnitInactivity()
        self._samples: list[Sample] = []  # of this step
        self._waiting: list[tuple[int, list[Layer], PendingValue]] = []
        self._turn = 0

    def begin_reading(self, forward: Forward) -> bool:
        began = time.perf_counter()
        if not self._names:
            self._names = {id(m): plain_name(name) for name, m in self.model.named_modules()}
        self._turn += 1
        self._function_calls.on()
        self.hook_seconds += time.perf_counter() - began
        return True

    def _observed(self, function: str, module: nn.Module | None, args: Any, kwargs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and not is_sharded(output):
            if self._copies:
                self._calls.append(Call(module, function, output.detach().clone(), None))
            else:
                version = None if output.is_inference() else output._version
                self._calls.append(Call(module, function, output, version))

    def end_reading(self) -> None:
        began = time.perf_counter()
        self._function_calls.off()
        calls, self._calls = self._calls, []
        if self._function_calls.error is not None:
            raise self._function_calls.error
        if any(_is_lost(each) for each in calls):
            self._copies = True
        elif calls:
            with NoGradients():
                if self._plan is None or not self._plan.fits(calls):
                    self._plan = Plan(calls, self._names)
                if self._plan.layers:
                    self._samples.append(self._plan.read(calls, self._turn))
        self.hook_seconds += keeping_cost() * len(calls) + time.perf_counter() - began

    def detach(self, step: int) -> None:
        if self._samples:
            samples, self._samples = self._samples, []
            layers = [layer for sample in samples for layer in sample.layers]
            self._waiting.append((step, layers, self.queue.put(self._inactivity.add(samples))))

    def end(self) -> None:
        self._function_calls.off()

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        for layers, alike in groupby(waiting, key=lambda each: each[1]):
            samples = list(alike)
            counts = np.stack([pending.numbers.reshape(len(layers), 3) for _, _, pending in samples])
            units = np.asarray([units for _, units in layers], np.float64)
            alive, dead, known = counts[:, :, 0], counts[:, :, 1], counts[:, :, 2] > 0
            table = np.stack([dead / units, dead, units - alive - np.where(known, dead, 0), alive], axis=1)
            table[:, :2][np.repeat(~known[:, None], 2, axis=1)] = MISSING
            columns: list[Key] = [(vital, owner) for vital in VITALS for owner, _ in layers]
            yield RowSet("dead_units", columns, [step for step, _, _ in samples], table.reshape(len(samples), -1))


class Plan:
    """How the outputs of a forward are looked at; it fits those that are like it."""

    def __init__(self, calls: Sequence[Call], names: Mapping[int, str]) -> None:
        self._made_for = [_kind(call) for call in calls]
        self._places: list[int] = []  # of the calls that are looked at,
        self._axes: list[int] = []  # and where each has its units
        self.layers: list[Layer] = []
        self._positions: list[int] = []
        numbered = Numbered()
        for place, (module, function, output, _) in enumerate(calls):
            name = names.get(id(module), "" if module is None else None)
            if name is None or output.dim() < 2 or not output.is_floating_point() or not output.numel():
                continue
            owner = numbered(call_name(module, name, function))
            if owner is not None:
                axis = unit_axis(output)
                self._places.append(place)
                self._axes.append(axis)
                self.layers.append((owner, output.shape[axis]))
                self._positions.append(_looked_at(output) * output.numel() // len(output) // output.shape[axis])
        # Side by side, if there is nothing else: tables of equally many samples that are looked at whole.
        outputs = [calls[place].output for place in self._places]
        self._together = len({len(each) for each in outputs}) == 1 and all(map(_is_small_table, outputs))

    def fits(self, calls: Sequence[Call]) -> bool:
        return self._made_for == [_kind(call) for call in calls]

    def read(self, calls: Sequence[Call], turn: int) -> Sample:
        outputs = [calls[place].output for place in self._places]
        if self._together:
            most: Tensor | np.ndarray = np.maximum.reduce(torch.cat(outputs, 1).numpy(), axis=0)
        else:
            most = end_to_end([look(output, axis, turn) for output, axis in zip(outputs, self._axes, strict=True)])
        return Sample(self.layers, self._positions, most)


def look(output: Tensor, axis: int, turn: int) -> Tensor | np.ndarray:
    """The largest value of every unit in a slice of the batch."""
    batch = _looked_at(output)
    if batch < len(output):
        start = (turn * batch) % (len(output) - batch + 1)
        output = output[start : start + batch]
    if _is_table(output):  # numpy takes a tenth of the time
        return np.asarray(np.maximum.reduce(array_view(output), axis=0))
    most = output.amax([d for d in range(output.dim()) if d != axis]).float()
    return most.numpy() if most.is_cpu else most


def _is_lost(call: Call) -> bool:
    """Overwritten since it was returned, or its memory given back."""
    return call.version is not None and (call.output._version != call.version or is_freed(call.output))


def _kind(call: Call) -> tuple[nn.Module | None, str, torch.Size, torch.dtype, bool]:
    output = call.output
    return call.module, call.function, output.shape, output.dtype, output.is_cpu


def _looked_at(output: Tensor) -> int:
    """How many elements of the batch."""
    return max(1, min(len(output), ELEMENTS * len(output) // output.numel()))


def _is_table(output: Tensor) -> bool:
    return output.dim() == 2 and output.is_cpu and output.dtype is torch.float32


def _is_small_table(output: Tensor) -> bool:
    return _is_table(output) and output.numel() <= ELEMENTS
