"""Dead units: those of a ReLU-like layer that no sample of many has activated.

Dead is a property of a unit over many batches, not of one: in a healthy ReLU layer half of all outputs are zero, and a
unit that is silent for one batch may speak for the next. So for every unit it is counted how many positions (samples,
pixels, tokens) have gone by since it was last active; it is dead when that is `ENOUGH`, over `SAMPLES` samples or more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bedside.collect.collector import Collector, Patient, RowSet
from bedside.collect.door import Forward
from bedside.collect.eavesdrop import Eavesdropper
from bedside.collect.freight import Ticket
from bedside.collect.layout import plain_name
from bedside.collect.nonlinearity import DYING, Numbered, call_name
from bedside.record.missing import MISSING
from bedside.record.run import Key

ENOUGH = 1000  # positions without activity: a unit active once in 300 is missed with a chance of 4 %
SAMPLES = 10  # fewer overcount (measured on a ResNet: 0.04 off after one sample, below 0.007 after ten)
ELEMENTS = 1 << 16  # looked at per layer and sample
VITALS = ("dead_fraction", "dead_units", "dying_units", "alive_units")


class DeadUnits(Collector):
    """Hears every call of a ReLU-like function in a sampled forward."""

    name = "dead_units"
    vitals = VITALS

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._ear = Eavesdropper(DYING, self._heard)
        self._names: dict[int, str] = {}
        self._numbered = Numbered()
        self._quiet: dict[str, Quiet] = {}
        self._counts: list[tuple[str, int, Tensor]] = []
        self._waiting: list[tuple[int, list[tuple[str, int]], Ticket]] = []
        self._turn = 0

    def reads(self, forward: Forward) -> bool:
        began = time.perf_counter()
        if not self._names:
            self._names = {id(m): plain_name(name) for name, m in self.model.named_modules()}
        self._numbered = Numbered()
        self._turn += 1
        self._ear.on()
        self.spent += time.perf_counter() - began
        return True

    def read(self) -> None:
        began = time.perf_counter()
        self._ear.off()
        if self._ear.error is not None:
            raise self._ear.error
        self.spent += time.perf_counter() - began

    def detach(self, step: int) -> None:
        if self._counts:
            owners = [(owner, units) for owner, units, _ in self._counts]
            self._waiting.append((step, owners, self.freight.put(torch.stack([c for _, _, c in self._counts]))))
            self._counts = []

    def end(self) -> None:
        self._ear.off()

    def _heard(self, function: str, module: nn.Module | None, args: Any, kwargs: Any, output: Any) -> None:
        began = time.perf_counter()
        name = self._names.get(id(module), "" if module is None else None)
        if name is not None and isinstance(output, Tensor) and output.dim() >= 2 and output.is_floating_point():
            owner = self._numbered(call_name(module, name, function))
            if owner is not None and output.numel():
                self._look(owner, output)
        self.spent += time.perf_counter() - began

    def _look(self, owner: str, output: Tensor) -> None:
        axis = unit_axis(output)
        units = output.shape[axis]
        quiet = self._quiet.get(owner)
        if quiet is None or quiet.units != units or quiet.positions.device != output.device:
            quiet = self._quiet[owner] = Quiet(units, output.device)
        fired, positions = active(output.detach(), axis, self._turn)
        self._counts.append((owner, units, quiet.add(fired, positions)))

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        for step, owners, ticket in waiting:
            counts = ticket.numbers.reshape(len(owners), 3)
            units = np.asarray([units for _, units in owners], np.float64)
            alive, dead, known = counts[:, 0], counts[:, 1], counts[:, 2] > 0
            dead = np.where(known, dead, MISSING)
            values = np.concatenate([dead / units, dead, units - alive - np.where(known, dead, 0), alive])
            values[: 2 * len(owners)][np.tile(~known, 2)] = MISSING  # arithmetic does not keep the mark
            columns: list[Key] = [(vital, owner) for vital in VITALS for owner, _ in owners]
            yield RowSet("dead_units", columns, [step], values[None, :])


class Quiet:
    """For every unit of one layer: how many positions have gone by since it was last active."""

    def __init__(self, units: int, device: torch.device) -> None:
        self.units = units
        self.positions = torch.zeros(units, device=device)
        self._samples = 0
        self._seen = 0

    def add(self, fired: Tensor, positions: int) -> Tensor:
        """One more sample; gives (alive, dead, whether enough has been seen to call anything dead)."""
        self._samples += 1
        self._seen += positions
        self.positions = (self.positions + positions) * ~fired
        enough = max(ENOUGH, SAMPLES * positions)
        dead = (self.positions >= enough).sum()
        known = torch.full((), float(self._samples >= SAMPLES and self._seen >= ENOUGH), device=fired.device)
        return torch.stack([fired.sum().float(), dead.float(), known])


def active(output: Tensor, axis: int, turn: int) -> tuple[Tensor, int]:
    """Which units are above zero anywhere in a slice of the batch, and over how many positions that was looked at."""
    batch = max(1, min(len(output), ELEMENTS * len(output) // output.numel()))
    start = (turn * batch) % max(1, len(output) - batch + 1)
    part = output[start : start + batch]
    others = [d for d in range(part.dim()) if d != axis % part.dim()]
    return ~(part.amax(others) <= 0), part.numel() // part.shape[axis]  # NaN is many things, but not silence


def unit_axis(output: Tensor) -> int:
    """Where the units are: channels come second after a convolution, features last after a linear layer."""
    if output.dim() == 2:
        return 1
    made_by = output.grad_fn.next_functions[0][0].name() if output.grad_fn and output.grad_fn.next_functions else ""
    if any(word in made_by for word in ("Conv", "BatchNorm", "GroupNorm")):
        return 1
    if any(word in made_by for word in ("Addmm", "View", "LayerNorm", "Linear")):
        return output.dim() - 1
    return 1 if output.dim() >= 4 else output.dim() - 1
