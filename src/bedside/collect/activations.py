"""What modules and non-linearities put out: mean, RMS, extremes, zeros, saturation, NaN; per module, sampled.

Of every output a few thousand elements are looked at, spread evenly (`sample.py`). While the forward runs only views
are kept; when it leaves, views of equal length are stacked and summarised together, so that the cost is a few calls per
group and not per module. An output that is overwritten in place before the forward leaves (`ReLU(inplace=True)` after
it) would be read too late: its version counter tells, the reading is dropped, and from then on such an output is copied
at once.
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
from bedside.collect.sample import sample
from bedside.collect.tensors import floating_in
from bedside.record.missing import MISSING
from bedside.record.run import Key

SUMMARY = ("activation_mean", "activation_rms", "activation_max", "zero_fraction", "nonfinite_activations")
SATURATED = "saturated_fraction"


class Output:
    """One output: who made it, a view of some of its elements, and the version at which they were right."""

    __slots__ = ("kind", "last_size", "owner", "source", "version", "view")

    def __init__(self, owner: str, kind: Kind | None, tensor: Tensor, turn: int, copy: bool) -> None:
        self.owner = owner
        self.kind = kind
        self.last_size = tensor.shape[-1] if tensor.dim() else 1
        self.source = tensor.detach()
        self.view = sample(self.source, turn)
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
        self._overwritten: set[str] = set()
        self._owners: dict[str, None] = {}  # in the order of the first forward: the front of the network first
        self._read: list[tuple[list[Output], Tensor]] = []
        self._waiting: list[tuple[int, list[tuple[list[str], bool, Ticket]]]] = []
        self._turn = 0

    def reads(self, forward: Forward) -> bool:
        began = time.perf_counter()
        if not self._names:
            self._names = {id(m): plain_name(name) for name, m in self.model.named_modules() if plain_name(name)}
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
        groups: dict[tuple[int, str, str], list[Output]] = {}
        for output in outputs:
            self._owners.setdefault(output.owner)
            if output.overwritten:
                self._overwritten.add(output.owner)
                continue
            key = (len(output.view), output.kind.name if output.kind else "", str(output.view.device))
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

    def _let_go(self) -> None:
        self._ear.off()
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def _called(self, function: str, module: nn.Module | None, args: Any, kwargs: Any, output: Any) -> None:
        began = time.perf_counter()
        name = self._names.get(id(module), "" if module is self.model or module is None else None)
        if name is not None and isinstance(output, Tensor):
            self._keep(call_name(module, name, function), KINDS[function], output)
        self.spent += time.perf_counter() - began

    def _returned(self, module: nn.Module, args: Any, output: Any) -> None:
        began = time.perf_counter()
        name = self._names.get(id(module))
        if name is not None and self._ear.error is None:
            try:
                tensor = output if isinstance(output, Tensor) else next(iter(floating_in(output)), None)
                # A container that hands on what its last child returned, and nn.ReLU after F.relu, add nothing.
                if tensor is not None and tensor is not self._previous:
                    self._keep(name, None, tensor)
            except Exception as error:
                self._ear.error = error
        self.spent += time.perf_counter() - began

    def _keep(self, name: str, kind: Kind | None, tensor: Tensor) -> None:
        if not tensor.is_floating_point() or tensor.layout is not torch.strided or not tensor.numel():
            return
        owner = self._numbered(name)
        if owner is not None:
            self._outputs.append(Output(owner, kind, tensor, self._turn, owner in self._overwritten))
            self._previous = tensor

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
    """One row per view: mean, RMS, largest absolute value, shares of zeros, of NaN and infinities, and saturated."""
    stacked = torch.stack(views)
    stacked = stacked if stacked.dtype in (torch.float32, torch.float64) else stacked.float()
    on_cpu = stacked.device.type == "cpu"
    table = _with_numpy(stacked.numpy()) if on_cpu else _with_torch(stacked)
    if kind is not None and kind.saturated is not None:
        values = stacked.numpy() if on_cpu else stacked
        share = kind.saturated(values).mean(1) if on_cpu else kind.saturated(values).float().mean(1)
        if kind.name == "softmax":  # of its rows: at most one element of each can be near one
            sizes = np.asarray(last_sizes, np.float64)
            share = share * (sizes if on_cpu else torch.as_tensor(sizes, device=stacked.device))
        table.append(share)
    if on_cpu:
        return torch.from_numpy(np.stack(table, axis=1))
    return torch.stack([column.double() for column in table], dim=1)


def _with_numpy(values: np.ndarray) -> list[np.ndarray]:
    """On the CPU numpy's row-wise extremes and counts are many times faster than torch's."""
    n = values.shape[1]
    with np.errstate(all="ignore"):
        highest, lowest = values.max(1), values.min(1)
        squares = np.einsum("ij,ij->i", values, values, dtype=np.float64 if n > 1 << 16 else None)
        rms = np.sqrt(squares.astype(np.float64) / n)
        bad = np.zeros(len(values))
        troubled = ~np.isfinite(rms)
        if troubled.any():
            bad[troubled] = (~np.isfinite(values[troubled])).mean(1)
        zeros = 1 - np.asarray([np.count_nonzero(row) for row in values]) / n
        return [values.mean(1, dtype=np.float64), rms, np.maximum(highest, -lowest), zeros, bad]


def _with_torch(values: Tensor) -> list[Tensor]:
    n = values.shape[1]
    return [
        values.mean(1),
        torch.linalg.vector_norm(values, dim=1) / n**0.5,
        values.abs().amax(1),
        (values == 0).float().mean(1),
        (~torch.isfinite(values)).float().mean(1),
    ]
