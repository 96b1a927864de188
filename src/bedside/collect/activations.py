"""What modules and non-linearities put out: mean, RMS, extremes, zeros, saturation, NaN, and how much it varies.

Of every output a few thousand elements are looked at, spread over samples and units (`sample.py`). While the forward
runs only views are kept; when it leaves, views of equal shape are stacked and summarised together, so that the cost is
a few calls per group and not per module. An output that is overwritten in place before the forward leaves
(`ReLU(inplace=True)` after it) would be read too late: its version counter tells, the reading is dropped, and from then
on such an output is copied at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

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
from bedside.collect.sample import table
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
FEWEST = 4  # samples or units between which variation is measured
CHANNELS_SECOND = (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d, nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveAvgPool1d)


class Output:
    """One output: who made it, a view of some of its elements, and the version at which they were right."""

    __slots__ = ("kind", "last_size", "owner", "source", "version", "view")

    def __init__(
        self, owner: str, kind: Kind | None, tensor: Tensor, turn: int, *, copy: bool, channels_second: bool
    ) -> None:
        self.owner = owner
        self.kind = kind
        self.last_size = tensor.shape[-1] if tensor.dim() else 1
        self.source = tensor.detach()
        self.view = table(self.source, turn, features_last=tensor.dim() < 4 and not channels_second)
        if copy or self.source.is_inference():
            self.view, self.source = self.view.clone(), None
        self.version = -1 if self.source is None else self.source._version

    @property
    def overwritten(self) -> bool:
        return self.source is not None and self.source._version != self.version


class Activations(Collector):
    """Hears every module and every non-linearity of a sampled forward."""

    name = "activations"
    vitals = (*SUMMARY, SATURATED)

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._ear = Eavesdropper(FUNCTIONS, self._called)
        self._hook: Any = None
        self._names: dict[int, str] = {}
        self._numbered = Numbered()
        self._outputs: list[Output] = []
        self._previous: Tensor | None = None
        self._channels_second = False
        self._kinds: dict[str, str] = {}
        self._told_kinds = 0
        self._overwritten: set[str] = set()
        self._owners: dict[str, None] = {}  # in the order of the first forward: the front of the network first
        self._read: list[tuple[list[Output], Tensor]] = []
        self._waiting: list[tuple[int, list[tuple[list[str], bool, Ticket]]]] = []
        self._turn = 0

    def reads(self, forward: Forward) -> bool:
        began = time.perf_counter()
        if not self._names:
            self._names = {id(m): plain_name(name) for name, m in self.model.named_modules()}
        self._numbered = Numbered()
        self._turn += 1
        self._ear.on()
        # One hook for all modules: nothing is registered on any of them.
        self._hook = register_module_forward_hook(self._returned)
        self.spent += time.perf_counter() - began
        return True

    def read(self) -> None:
        began = time.perf_counter()
        self._let_go()
        outputs, self._outputs, self._previous = self._outputs, [], None
        if self._ear.error is not None:
            raise self._ear.error
        groups: dict[tuple[tuple[int, ...], str, str], list[Output]] = {}
        for output in outputs:
            self._owners.setdefault(output.owner)
            if output.overwritten:
                self._overwritten.add(output.owner)
                continue
            key = (tuple(output.view.shape), output.kind.name if output.kind else "", str(output.view.device))
            groups.setdefault(key, []).append(output)
        self._read += [(group, summaries([o.view for o in group], group[0].kind, [o.last_size for o in group]))
                       for group in groups.values()]  # fmt: skip
        for group, _ in self._read:
            for output in group:
                output.view = output.source = None
        self.spent += time.perf_counter() - began

    def detach(self, step: int) -> None:
        if self._read:
            read, self._read = self._read, []
            groups = [([o.owner for o in group], _saturates(group[0].kind), self.freight.put(s)) for group, s in read]
            self._waiting.append((step, groups))

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
        began = time.perf_counter()
        name = self._names.get(id(module), "" if module is None else None)
        if name is not None and isinstance(output, Tensor):
            channels = self._channels_second  # what a non-linearity is given, it returns
            self._keep(call_name(module, name, function), KINDS[function], output, channels)
        self.spent += time.perf_counter() - began

    def _returned(self, module: nn.Module, args: Any, output: Any) -> None:
        began = time.perf_counter()
        name = self._names.get(id(module))
        if name and self._ear.error is None:  # the root's output is its last child's, or the loss's business
            try:
                tensor = output if isinstance(output, Tensor) else next(iter(floating_in(output)), None)
                # A container that hands on what its last child returned, and nn.ReLU after F.relu, add nothing.
                if tensor is not None and tensor is not self._previous:
                    self._channels_second = isinstance(module, CHANNELS_SECOND)
                    self._keep(name, None, tensor, self._channels_second)
            except Exception as error:
                self._ear.error = error
        self.spent += time.perf_counter() - began

    def _keep(self, name: str, kind: Kind | None, tensor: Tensor, channels_second: bool) -> None:
        if not tensor.is_floating_point() or tensor.layout is not torch.strided or not tensor.numel():
            return
        owner = self._numbered(name)
        if owner is not None:
            overwritten = owner in self._overwritten
            output = Output(owner, kind, tensor, self._turn, copy=overwritten, channels_second=channels_second)
            self._outputs.append(output)
            self._previous = tensor
            if kind is not None:
                self._kinds.setdefault(owner, kind.name)

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        owners = list(self._owners)
        place = {owner: i for i, owner in enumerate(owners)}
        columns: list[Key] = [(vital, owner) for vital in self.vitals for owner in owners]
        values = np.full((len(waiting), len(self.vitals), len(owners)), MISSING)
        for row, (_, groups) in zip(values, waiting, strict=True):
            for members, saturates, ticket in groups:
                at = [place[owner] for owner in members]
                table = ticket.numbers.reshape(len(members), -1)
                row[: len(SUMMARY), at] = table[:, : len(SUMMARY)].T
                if saturates:
                    row[len(SUMMARY), at] = table[:, len(SUMMARY)]
        yield RowSet("activations", columns, [step for step, _ in waiting], values.reshape(len(waiting), -1))


def _saturates(kind: Kind | None) -> bool:
    return kind is not None and kind.saturated is not None


def summaries(views: list[Tensor], kind: Kind | None, last_sizes: list[int]) -> Tensor:
    """One row per view, (samples, units): the SUMMARY, and the share that is saturated if the kind can be."""
    stacked = torch.stack(views)
    stacked = stacked if stacked.dtype in (torch.float32, torch.float64) else stacked.float()
    on_cpu = stacked.device.type == "cpu"
    columns = _with_numpy(stacked.numpy()) if on_cpu else _with_torch(stacked)
    if kind is not None and kind.saturated is not None:
        flat = (stacked.numpy() if on_cpu else stacked).reshape(len(views), -1)
        share = kind.saturated(flat).mean(1) if on_cpu else kind.saturated(flat).float().mean(1)
        if kind.name == "softmax":  # of its rows: at most one element of each can be near one
            sizes = np.asarray(last_sizes, np.float64)
            share = share * (sizes if on_cpu else torch.as_tensor(sizes, device=stacked.device))
        columns.append(share)
    if on_cpu:
        return torch.from_numpy(np.stack(columns, axis=1))
    return torch.stack([column.double() for column in columns], dim=1)


def _with_numpy(values: np.ndarray) -> list[np.ndarray]:
    """On the CPU numpy's row-wise extremes and counts are many times faster than torch's."""
    values = values.astype(np.float64)  # variation is a small difference of large numbers
    flat = values.reshape(len(values), -1)
    n = flat.shape[1]
    with np.errstate(all="ignore"):
        square = np.einsum("ij,ij->i", flat, flat) / n
        per_unit, per_sample = values.mean(1), values.mean(2)
        bad = np.zeros(len(values))
        troubled = ~np.isfinite(square)
        if troubled.any():
            bad[troubled] = (~np.isfinite(flat[troubled])).mean(1)
        return [
            per_unit.mean(1),
            np.sqrt(square),
            np.maximum(flat.max(1), -flat.min(1)),
            1 - np.asarray([np.count_nonzero(row) for row in flat]) / n,
            bad,
            _variation(square, (per_unit**2).mean(1), values.shape[1]),
            _variation(square, (per_sample**2).mean(1), values.shape[2]),
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
