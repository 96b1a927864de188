"""What modules and non-linearities put out: mean, RMS, extremes, zeros, saturation, NaN, and how much it varies.

Of every output a few thousand elements are looked at, spread over samples and units (`sample.py`). While the forward
runs outputs are only kept; when it leaves, those of equal shape are stacked and summarised together, so that the cost
is a few calls per shape and not per module. An output that is overwritten in place before the forward leaves
(`ReLU(inplace=True)` after it) would be read too late: its version counter tells, the reading is dropped, and from then
on such an output is copied at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from bedside.collect.collector import Collector, Patient, RowSet
from bedside.collect.door import Forward
from bedside.collect.eavesdrop import Eavesdropper
from bedside.collect.freight import Ticket
from bedside.collect.layout import plain_name
from bedside.collect.nonlinearity import FUNCTIONS, KINDS, Kind, Numbered, call_name
from bedside.collect.sample import ELEMENTS, table
from bedside.collect.squares import dots
from bedside.collect.tensors import floating_in
from bedside.record.missing import MISSING
from bedside.record.run import Event, Key

SUMMARY = (
    "activation_mean",
    "activation_rms",
    "activation_max",
    "zero_fraction",
    "nonfinite_activations",
    "batch_variation",
    "unit_variation",
)
SATURATED = "saturated_fraction"
HOOK = 2e-6  # seconds that keeping an output takes: too little to be timed without doubling it
FEWEST = 4  # samples or units between which variation is measured
CHANNELS_SECOND = (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d, nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveAvgPool1d)


# What is kept while the forward runs: who made it (a module, and the function it called, or "" for what it returned),
# the tensor, and its version at that moment; -1 of a copy.
Kept = tuple[nn.Module | None, str, Tensor, int]


class Output(NamedTuple):
    """One output that will be summarised."""

    owner: str
    kind: Kind | None
    tensor: Tensor


class Activations(Collector):
    """Hears every module and every non-linearity of a sampled forward."""

    name = "activations"
    vitals = (*SUMMARY, SATURATED)

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._ear = Eavesdropper(FUNCTIONS, self._called)
        self._hook: Any = None
        self._names: dict[int, str] = {}
        self._kept: list[Kept] = []
        self._kinds: dict[str, str] = {}
        self._told_kinds = 0
        self._overwritten: set[tuple[int, str]] = set()  # whose outputs are: module and function
        self._owners: dict[str, None] = {}  # in the order of the first forward: the front of the network first
        self._read: list[tuple[list[str], Tensor]] = []
        self._waiting: list[tuple[int, list[tuple[list[str], Ticket]]]] = []
        self._turn = 0

    def reads(self, forward: Forward) -> bool:
        began = time.perf_counter()
        if not self._names:
            self._names = {id(m): plain_name(name) for name, m in self.model.named_modules()}
        self._turn += 1
        self._ear.on()
        # One hook for all modules: nothing is registered on any of them.
        self._hook = register_module_forward_hook(self._returned)
        self.spent += time.perf_counter() - began
        return True

    def read(self) -> None:
        began = time.perf_counter()
        self._let_go()
        kept, self._kept = self._kept, []
        if self._ear.error is not None:
            raise self._ear.error
        groups: dict[Any, list[Output]] = {}
        for shape, output in self._worth_reading(kept):
            groups.setdefault(shape, []).append(output)
        with torch.no_grad():
            self._read += [
                ([output.owner for output in group], self._summary(group, channels_second))
                for (channels_second, *_), group in groups.items()
            ]
        self.spent += HOOK * len(kept) + time.perf_counter() - began

    def _worth_reading(self, kept: list[Kept]) -> Iterator[tuple[Any, Output]]:
        """Those that are numbers and were not overwritten, each with its name, and what those of a group share."""
        numbered, names, owners = Numbered(), self._names, self._owners
        previous, channels_second = None, False
        for module, function, tensor, version in kept:
            name = names.get(id(module), "" if module is None else None)
            # A container that hands on what its last child returned, and nn.ReLU after F.relu, add nothing; the root's
            # output is its last child's, or the loss's business.
            if name is None or not (function or (name and tensor is not previous)):
                continue
            if not function:
                channels_second = isinstance(module, CHANNELS_SECOND)  # what a non-linearity is given, it returns
            if not tensor.is_floating_point() or tensor.layout is not torch.strided or not tensor.numel():
                continue
            owner = numbered(call_name(module, name, function) if function else name)
            if owner is None:
                continue
            previous = tensor
            kind = KINDS[function] if function else None
            if kind is not None:
                self._kinds.setdefault(owner, kind.name)
            owners[owner] = None
            if version >= 0 and tensor._version != version:
                self._overwritten.add((id(module), function))
                continue
            yield (channels_second, tensor.shape, tensor.dtype, tensor.device), Output(owner, kind, tensor)

    def _summary(self, group: list[Output], channels_second: bool) -> Tensor:
        """One row per output of one shape."""
        first = group[0].tensor
        features_last = first.dim() < 4 and not channels_second
        views = [output.tensor for output in group]
        if first.dim() != 2 or first.numel() > ELEMENTS:
            views = [table(view, self._turn, features_last) for view in views]
        return summaries(views, [output.kind for output in group], first.shape[-1] if first.dim() else 1)

    def detach(self, step: int) -> None:
        if self._read:
            read, self._read = self._read, []
            self._waiting.append((step, [(owners, self.freight.put(rows)) for owners, rows in read]))

    def end(self) -> None:
        self._let_go()

    def events(self) -> Iterable[Event]:
        if len(self._kinds) > self._told_kinds:
            self._told_kinds = len(self._kinds)
            yield Event(self.patient.step, "nonlinearities", dict(self._kinds), time.time())

    def _let_go(self) -> None:
        self._ear.off()
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def _called(self, function: str, module: nn.Module | None, args: Any, kwargs: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            self._keep(module, function, output)

    def _returned(self, module: nn.Module, args: Any, output: Any) -> None:
        try:
            if type(output) is not Tensor:
                output = next(iter(floating_in(output)), None)
            if output is not None:
                self._keep(module, "", output)
        except Exception as error:
            self._ear.error = error

    def _keep(self, module: nn.Module | None, function: str, tensor: Tensor) -> None:
        if tensor.is_inference() or (self._overwritten and (id(module), function) in self._overwritten):
            self._kept.append((module, function, tensor.detach().clone(), -1))
        else:
            self._kept.append((module, function, tensor, tensor._version))

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        owners = list(self._owners)
        place = {owner: i for i, owner in enumerate(owners)}
        columns: list[Key] = [(vital, owner) for vital in self.vitals for owner in owners]
        values = np.full((len(waiting), len(self.vitals), len(owners)), MISSING)
        for row, (_, groups) in zip(values, waiting, strict=True):
            for members, ticket in groups:
                at = [place[owner] for owner in members]
                row[:, at] = ticket.numbers.reshape(len(members), -1).T
        yield RowSet("activations", columns, [step for step, _ in waiting], values.reshape(len(waiting), -1))


def summaries(views: list[Tensor], kinds: list[Kind | None], last_size: int) -> Tensor:
    """One row per view, (samples, units): the SUMMARY, and the share that is saturated where the kind can be."""
    stacked = torch.stack(views)
    stacked = stacked if stacked.dtype in (torch.float32, torch.float64) else stacked.float()
    on_cpu = stacked.device.type == "cpu"
    columns: list[Any] = _with_numpy(stacked.numpy()) if on_cpu else _with_torch(stacked)
    saturated = np.full(len(views), MISSING) if on_cpu else torch.full((len(views),), MISSING, device=stacked.device)
    flat = (stacked.numpy() if on_cpu else stacked).reshape(len(views), -1)
    for kind in {kind.name: kind for kind in kinds if kind is not None and kind.saturated is not None}.values():
        at = [i for i, each in enumerate(kinds) if each is kind]
        share = kind.saturated(flat[at]).mean(1) if on_cpu else kind.saturated(flat[at]).float().mean(1)
        # Of a softmax, the share of its rows: at most one element of each can be near one.
        saturated[at] = share * last_size if kind.name == "softmax" else share
    columns.append(saturated)
    if on_cpu:
        return torch.from_numpy(np.stack(columns, axis=1))
    return torch.stack([column.double() for column in columns], dim=1)


def _with_numpy(values: np.ndarray) -> list[np.ndarray]:
    """On the CPU numpy's row-wise extremes are many times faster than torch's, and sums are quickest as products."""
    count, samples, units = values.shape
    n = samples * units
    flat = values.reshape(count, n)
    wide = values.astype(np.float64)  # variation is a small difference of large numbers
    row = wide.reshape(count, n)
    with np.errstate(all="ignore"):
        square = dots(row, row) / n
        per_unit = np.ones(samples) @ wide / samples
        per_sample = wide @ np.ones(units) / units
        there = (flat != 0).astype(np.float32)
        bad = np.zeros(count)
        troubled = ~np.isfinite(square)
        if troubled.any():
            bad[troubled] = (~np.isfinite(flat[troubled])).mean(1)
        return [
            per_unit @ np.ones(units) / units,
            np.sqrt(square),
            np.maximum(np.maximum.reduce(flat, axis=1), -np.minimum.reduce(flat, axis=1)),
            1 - dots(there, there) / n,
            bad,
            _variation(square, dots(per_unit, per_unit) / units, samples),
            _variation(square, dots(per_sample, per_sample) / samples, units),
        ]


def _variation(square: np.ndarray, explained: np.ndarray, count: int) -> np.ndarray:
    """What is left of the mean square when the means along one direction are taken out, as a share of the RMS."""
    if count < FEWEST:
        return np.full(len(square), MISSING)
    left = np.sqrt(np.maximum(square - explained, 0.0) / square)
    return np.where(square > 0, left, 0.0)


def _with_torch(values: Tensor) -> list[Tensor]:
    flat = values.flatten(1)
    square = flat.double().square().mean(1)
    missing = torch.full_like(square, MISSING)

    def variation(direction: int) -> Tensor:
        if values.shape[direction] < FEWEST:
            return missing
        explained = values.double().mean(direction).square().mean(1)
        left = ((square - explained).clamp(min=0) / square).sqrt()
        return torch.where(square > 0, left, torch.zeros_like(left))

    return [
        flat.mean(1),
        square.sqrt(),
        flat.abs().amax(1),
        (flat == 0).float().mean(1),
        (~torch.isfinite(flat)).float().mean(1),
        variation(1),
        variation(2),
    ]
