"""For every unit of all layers: how many positions have gone by since it was last active."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

MIN_POSITIONS = 1000  # positions without activity: a unit active once in 300 is missed with a chance of 4 %
MIN_SAMPLES = 10  # fewer overcount (measured on a ResNet: 0.04 off after one sample, below 0.007 after ten)

Layer = tuple[str, int]  # its owner, and how many units it has


class Sample(NamedTuple):
    """Of one forward: the largest value of every unit, layer after layer, and over how many positions of each."""

    layers: list[Layer]
    positions: list[int]
    most: Tensor | np.ndarray


class UnitInactivity:
    """The units of all layers lie in one row, so that a sample takes a few calls, however many layers there are: in
    numpy on the CPU, where a call takes a fraction of torch's."""

    def __init__(self) -> None:
        self._layers: list[Layer] = []  # in the order of the row
        self._device = torch.device("cpu")
        self._positions: Any = np.empty(0, np.float32)
        self._passing: list[int] = []  # positions of a sample, per layer
        self._aside: dict[Layer, Tensor] = {}  # layers that the last sample did not have
        self._seen: dict[Layer, tuple[int, int]] = {}  # samples and positions of every layer
        self._known: list[bool] = []  # whether enough has been seen of each

    def add(self, samples: Sequence[Sample]) -> Tensor | np.ndarray:
        """Another sample, of one or more forwards; per layer (alive, dead, whether enough has been seen to call
        anything dead)."""
        layers, positions, most = samples[0] if len(samples) == 1 else _joined(samples)
        self._line_up(layers, most.device if isinstance(most, Tensor) else torch.device("cpu"))
        self._let_pass(positions)
        if not all(self._known):
            self._known = [self._count(*each) for each in zip(layers, positions, strict=True)]
        fired = ~(most <= 0)  # NaN is many things, but not silence
        self._positions = (self._positions + self._passed) * ~fired
        dead = self._positions >= self._enough
        if isinstance(fired, np.ndarray):
            counts = np.add.reduceat(np.stack([fired, dead]).astype(np.float64), self._starts, axis=1)
            return np.concatenate([counts, [self._known]]).T
        sums = torch.stack([fired, dead]).cumsum(1)[:, self._ends]
        sums[:, 1:] -= sums[:, :-1].clone()
        return torch.cat([sums, torch.tensor([self._known], device=self._device)]).T.double()

    def _count(self, layer: Layer, positions: int) -> bool:
        """Whether enough has been seen of it by now."""
        samples, before = self._seen.get(layer, (0, 0))
        self._seen[layer] = (samples + 1, before + positions)
        return samples + 1 >= MIN_SAMPLES and before + positions >= MIN_POSITIONS

    def _line_up(self, layers: list[Layer], device: torch.device) -> None:
        """Give these layers their places in the row, with what is known of them."""
        if layers == self._layers and self._device == device:
            return
        parts = torch.as_tensor(self._positions).split([units for _, units in self._layers]) if self._layers else ()
        self._aside |= zip(self._layers, parts, strict=True)
        positions = torch.cat([self._aside.pop(each, torch.zeros(each[1])).to(device) for each in layers])
        self._positions = positions.numpy() if device.type == "cpu" else positions
        self._layers, self._device, self._passing, self._known = layers, device, [], [False]
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
        enough = (MIN_SAMPLES * passed).clamp(min=MIN_POSITIONS)
        here = self._device.type == "cpu"
        self._passed = passed.numpy() if here else passed.to(self._device, non_blocking=True)
        self._enough = enough.numpy() if here else enough.to(self._device, non_blocking=True)


def _joined(samples: Sequence[Sample]) -> Sample:
    layers = [layer for sample in samples for layer in sample.layers]
    positions = [each for sample in samples for each in sample.positions]
    return Sample(layers, positions, end_to_end([sample.most for sample in samples]))


def end_to_end(rows: Sequence[Tensor | np.ndarray]) -> Tensor | np.ndarray:
    """As one row, on a device if one of them lies there."""
    if all(isinstance(row, np.ndarray) for row in rows):
        return rows[0] if len(rows) == 1 else np.concatenate(rows)
    device = next(row.device for row in rows if isinstance(row, Tensor))
    return torch.cat([torch.as_tensor(row).to(device, non_blocking=True) for row in rows])
