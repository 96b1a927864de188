"""Dead units: those of a ReLU-like layer that no sample of many has activated.

Dead is a property of a unit over many batches, not of one: in a healthy ReLU layer half of all outputs are zero, and a
unit that is silent for one batch may speak for the next. So for every unit it is counted how many positions (samples,
pixels, tokens) have gone by since it was last active; it is dead when that is `ENOUGH`, over `SAMPLES` samples or more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import groupby
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
Look = tuple[str, Tensor, int]  # owner, the largest value of each of its units, over how many positions
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
        self._quiet = Quiet()
        self._looks: list[Look] = []
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
        if self._looks:
            looks, self._looks = self._looks, []
            owners = [(owner, len(most)) for owner, most, _ in looks]
            self._waiting.append((step, owners, self.freight.put(self._quiet.add(looks))))

    def end(self) -> None:
        self._ear.off()

    def _heard(self, function: str, module: nn.Module | None, args: Any, kwargs: Any, output: Any) -> None:
        began = time.perf_counter()
        name = self._names.get(id(module), "" if module is None else None)
        if name is not None and isinstance(output, Tensor) and output.dim() >= 2 and output.is_floating_point():
            owner = self._numbered(call_name(module, name, function))
            if owner is not None and output.numel():
                self._looks.append((owner, *look(output.detach(), unit_axis(output), self._turn)))
        self.spent += time.perf_counter() - began

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        for owners, alike in groupby(waiting, key=lambda each: each[1]):
            samples = list(alike)
            counts = np.stack([ticket.numbers.reshape(len(owners), 3) for _, _, ticket in samples])
            units = np.asarray([units for _, units in owners], np.float64)
            alive, dead, known = counts[:, :, 0], counts[:, :, 1], counts[:, :, 2] > 0
            table = np.stack([dead / units, dead, units - alive - np.where(known, dead, 0), alive], axis=1)
            table[:, :2][np.repeat(~known[:, None], 2, axis=1)] = MISSING
            columns: list[Key] = [(vital, owner) for vital in VITALS for owner, _ in owners]
            yield RowSet("dead_units", columns, [step for step, _, _ in samples], table.reshape(len(samples), -1))


class Quiet:
    """For every unit: how many positions have gone by since it was last active.

    The units of all layers lie in one row, so that a sample takes a few calls, however many layers there are: in numpy
    on the CPU, where a call takes a fraction of torch's.
    """

    def __init__(self) -> None:
        self._layers: list[tuple[str, int]] = []  # owner and number of units, in the order of the row
        self._device = torch.device("cpu")
        self._positions: Any = np.empty(0, np.float32)
        self._passing: list[int] = []  # positions of a sample, per layer
        self._aside: dict[tuple[str, int], Tensor] = {}  # layers that the last sample did not have
        self._seen: dict[tuple[str, int], tuple[int, int]] = {}  # samples and positions of every layer

    def add(self, looks: Sequence[Look]) -> Tensor | np.ndarray:
        """One more sample; per layer (alive, dead, whether enough has been seen to call anything dead)."""
        device = looks[0][1].device
        self._line_up([(owner, len(most)) for owner, most, _ in looks], device)
        self._let_pass([positions for _, _, positions in looks])
        known = [self._count(layer, positions) for layer, (_, _, positions) in zip(self._layers, looks, strict=True)]
        most: Any
        if device.type == "cpu":
            most = np.concatenate([most.numpy(force=True) for _, most, _ in looks])
        else:
            most = torch.cat([most.to(device, non_blocking=True) for _, most, _ in looks])
        fired = ~(most <= 0)  # NaN is many things, but not silence
        self._positions = (self._positions + self._passed) * ~fired
        dead = self._positions >= self._enough
        if device.type == "cpu":
            counts = np.add.reduceat(np.stack([fired, dead]).astype(np.float64), self._starts, axis=1)
            return np.concatenate([counts, [known]]).T
        sums = torch.stack([fired, dead]).cumsum(1)[:, self._ends]
        sums[:, 1:] -= sums[:, :-1].clone()
        return torch.cat([sums, torch.tensor([known], device=device)]).T.double()

    def _count(self, layer: tuple[str, int], positions: int) -> bool:
        """Whether enough has been seen of it by now."""
        samples, before = self._seen.get(layer, (0, 0))
        self._seen[layer] = (samples + 1, before + positions)
        return samples + 1 >= SAMPLES and before + positions >= ENOUGH

    def _line_up(self, layers: list[tuple[str, int]], device: torch.device) -> None:
        """Give these layers their places in the row, with what is known of them."""
        if layers == self._layers and self._device == device:
            return
        parts = torch.as_tensor(self._positions).split([units for _, units in self._layers]) if self._layers else ()
        self._aside |= zip(self._layers, parts, strict=True)
        positions = torch.cat([self._aside.pop(each, torch.zeros(each[1])).to(device) for each in layers])
        self._positions = positions.numpy() if device.type == "cpu" else positions
        self._layers, self._device, self._passing = layers, device, []
        sizes = np.asarray([units for _, units in layers])
        self._starts = sizes.cumsum() - sizes
        self._ends = torch.as_tensor(sizes.cumsum() - 1, device=device)

    def _let_pass(self, passing: list[int]) -> None:
        """So many positions go by in this sample."""
        if passing == self._passing:
            return
        self._passing = passing
        passed = torch.tensor(passing, dtype=torch.float32).repeat_interleave(
            torch.tensor([units for _, units in self._layers])
        )
        enough = (SAMPLES * passed).clamp(min=ENOUGH)
        here = self._device.type == "cpu"
        self._passed = passed.numpy() if here else passed.to(self._device, non_blocking=True)
        self._enough = enough.numpy() if here else enough.to(self._device, non_blocking=True)


def look(output: Tensor, axis: int, turn: int) -> tuple[Tensor, int]:
    """The largest value of every unit in a slice of the batch, and over how many positions that was looked at."""
    batch = max(1, min(len(output), ELEMENTS * len(output) // output.numel()))
    if batch < len(output):
        start = (turn * batch) % (len(output) - batch + 1)
        output = output[start : start + batch]
    positions = output.numel() // output.shape[axis]
    if output.dim() == 2 and output.is_cpu and output.dtype is torch.float32:  # numpy takes a tenth of the time
        return torch.from_numpy(np.maximum.reduce(output.numpy(), axis=0)), positions
    return output.amax([d for d in range(output.dim()) if d != axis]).float(), positions


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
