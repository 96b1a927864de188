"""Mean, RMS, extremes, zeros, saturation, NaN and variation of many outputs, from a few elements of each.

On the CPU a call costs more than the arithmetic of a small output. So outputs with equally many samples lie side by
side on one *sheet*, a row per sample and a column per unit, and a few calls read all of them, however many there are
and whatever their widths; where numba is installed, one call of native code reads them where they are. At the step only
sums are added up; the vitals are computed from them when rows are asked for, for many steps at once. Elsewhere outputs
of equal shape are stacked, and nothing is read before the device queue arrives.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.model.nonlinearities import NOWHERE, SOFTMAX, Kind
from bedside.collect.reading.array_view import array_view
from bedside.collect.reading.native import sums as native
from bedside.collect.reading.native.sums import Tables
from bedside.collect.reading.subsample import Cut
from bedside.record.missing import MISSING

SUMMARY = (
    "activation_mean",
    "activation_rms",
    "activation_max",
    "zero_fraction",
    "nonfinite_activations",
    "batch_variation",
    "unit_variation",
    "saturated_fraction",
)
MIN_SAMPLES = 4  # samples or units between which variation is measured
SHEET = 1 << 16  # elements: with what is worked out from them they stay in the cache

Floats = NDArray[np.float64]


class Output(NamedTuple):
    """One output of a forward: which of those that were observed, whose, and what is looked at."""

    place: int
    owner: str
    kind: Kind | None
    cut: Cut
    shape: Sequence[int]
    dtype: torch.dtype

    @property
    def saturates(self) -> bool:
        return self.kind is not None and self.kind.saturates

    @property
    def shares(self) -> float:
        """What a saturated element stands for. Of a softmax, the share of its rows counts: at most one element of each
        can be near one."""
        return (self.shape[-1] if self.shape else 1) if self.kind is SOFTMAX else 1


# The sums of a sheet: those over all elements, then those that take a second look. (kernels.py has the same order.)
TOTAL, SQUARE, NONZERO, SATURATED, BY_UNIT, BY_SAMPLE, LARGEST_SQUARE, BAD = range(8)
EXACT = (torch.float32, torch.float64)


class Sheets:
    """Outputs on the CPU."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        sheets = list(_sheets(outputs))
        room = Room(max(_elements(sheet) for sheet in sheets))
        self._sheets = [Sheet(sheet, room) for sheet in sheets]
        ordered = [output for sheet in self._sheets for output in sheet.outputs]
        self.owners = [output.owner for output in ordered]
        self._samples = np.asarray([output.cut.samples for output in ordered], np.float64)
        self._units = np.asarray([output.cut.units for output in ordered], np.float64)
        self._shares = np.asarray([output.shares for output in ordered], np.float64)
        self._saturates = np.asarray([output.saturates for output in ordered])
        places = [output.place for output in ordered]
        self._pick = itemgetter(*places) if len(places) > 1 else lambda tensors: (tensors[places[0]],)
        self._tables = Tables([o.cut for o in ordered], [o.kind.flat if o.kind else NOWHERE for o in ordered])

    def read(self, tensors: Sequence[Tensor], turn: int) -> Floats:
        """The sums of this forward, (8, outputs)."""
        if native.ready() and (found := self._tables.add_up(self._pick(tensors), turn)) is not None:
            return found
        sums = np.zeros((8, len(self.owners)))
        start = 0
        with np.errstate(all="ignore"):
            for sheet in self._sheets:
                end = start + len(sheet.outputs)
                sheet.add_up(tensors, turn, sums[:, start:end])
                start = end
        return sums

    def finished(self, sums: Floats) -> Floats:
        """(steps, vitals, outputs) from the sums of many steps."""
        samples, units = self._samples, self._units
        shares = sums / (samples * units)
        square = shares[:, SQUARE]
        with np.errstate(all="ignore"):
            columns = [
                shares[:, TOTAL],
                np.sqrt(square),
                np.sqrt(sums[:, LARGEST_SQUARE]),
                1 - shares[:, NONZERO],
                shares[:, BAD],
                _variation(square, shares[:, BY_UNIT] / samples, samples),
                _variation(square, shares[:, BY_SAMPLE] / units, units),
                np.where(self._saturates, shares[:, SATURATED] * self._shares, MISSING),
            ]
        return np.stack(columns, axis=1)


class Room:
    """What all sheets are worked out in, one after the other: memory that is in the cache already."""

    def __init__(self, elements: int) -> None:
        self.narrow = torch.empty(elements)
        self.wide, self.squares = np.empty(elements), np.empty(elements)  # variation is a small difference
        self.nonzero = np.empty(elements, bool)


class Sheet:
    """Some of them, with equally many samples."""

    def __init__(self, outputs: Sequence[Output], room: Room) -> None:
        self.outputs = outputs
        widths = [output.cut.units for output in outputs]
        shape, size = (outputs[0].cut.samples, sum(widths)), _elements(outputs)
        self._starts = np.cumsum([0, *widths[:-1]])
        self._width = widths[0] if len(set(widths)) == 1 else None
        as_they_are = all(o.cut.whole and len(o.shape) == 2 and o.dtype is torch.float32 for o in outputs)
        self._pick = itemgetter(*(output.place for output in outputs)) if as_they_are and len(outputs) > 1 else None
        self._narrow = room.narrow[:size].view(shape)
        self._wide = room.wide[:size].reshape(shape)
        self._squares = room.squares[:size].reshape(shape)
        self._nonzero = room.nonzero[:size].reshape(shape)
        self._counts = np.min_scalar_type(shape[0])  # narrow: a count of bytes in bytes is the quickest
        self._sums = np.zeros((BY_UNIT + 1, sum(widths)))
        self._samples, self._units, self._outputs = np.ones(shape[0]), np.ones(widths[0]), np.ones(len(outputs))
        self._saturating = list(_runs(outputs))

    def add_up(self, tensors: Sequence[Tensor], turn: int, into: Floats) -> None:
        self._lay_out(tensors, turn)
        # Sums by products: BLAS adds several times faster than numpy does.
        wide, squares, sums, starts, ones = self._wide, self._squares, self._sums, self._starts, self._samples
        np.dot(ones, wide, out=sums[TOTAL])
        np.multiply(sums[TOTAL], sums[TOTAL], out=sums[BY_UNIT])
        if self._width is None:
            by_sample = np.add.reduceat(wide, starts, axis=1)
        else:
            by_sample = np.dot(wide.reshape(-1, self._width), self._units).reshape(len(wide), -1)
        np.dot(ones, np.multiply(by_sample, by_sample), out=into[BY_SAMPLE])
        np.multiply(wide, wide, out=squares)
        np.dot(ones, squares, out=sums[SQUARE])
        into[LARGEST_SQUARE] = np.maximum.reduceat(np.maximum.reduce(squares, axis=0), starts)
        np.not_equal(wide, 0, out=self._nonzero)
        sums[NONZERO] = np.add.reduce(self._nonzero.view(np.uint8), axis=0, dtype=self._counts)
        for kind, columns in self._saturating:
            sums[SATURATED, columns] = kind.saturated(wide[:, columns]).sum(axis=0)
        np.add.reduceat(sums, starts, axis=1, out=into[: BY_UNIT + 1])
        if not math.isfinite(np.dot(self._outputs, into[SQUARE])):
            into[BAD] = np.add.reduceat((~np.isfinite(wide)).sum(axis=0), starts)

    def _lay_out(self, tensors: Sequence[Tensor], turn: int) -> None:
        if self._pick is not None:
            torch.cat(self._pick(tensors), 1, out=self._narrow)
            np.copyto(self._wide, self._narrow.numpy())
        else:
            parts = [_array(output, tensors[output.place], turn) for output in self.outputs]
            np.concatenate(parts, axis=1, out=self._wide)


class Stack:
    """Outputs of one shape that lie on another device."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = outputs
        self.owners = [output.owner for output in outputs]
        self._kinds: dict[Kind, list[int]] = defaultdict(list)
        for place, output in enumerate(outputs):
            if output.kind is not None and output.saturates:
                self._kinds[output.kind].append(place)

    def read(self, tensors: Sequence[Tensor], turn: int) -> Tensor:
        """(outputs, vitals), on the device."""
        stacked = torch.stack([o.cut.of(_in_one_piece(tensors[o.place]), turn) for o in self._outputs])
        stacked = stacked if stacked.dtype in EXACT else stacked.float()
        flat = stacked.flatten(1)
        square = flat.double().square().mean(1)
        saturated = torch.full_like(square, MISSING)
        for kind, places in self._kinds.items():
            saturated[places] = kind.saturated(flat[places]).double().mean(1) * self._outputs[places[0]].shares
        columns = [
            flat.mean(1),
            square.sqrt(),
            flat.abs().amax(1),
            (flat == 0).float().mean(1),
            (~torch.isfinite(flat)).float().mean(1),
            _variation_of(stacked, square, 1),
            _variation_of(stacked, square, 2),
            saturated,
        ]
        return torch.stack([column.double() for column in columns], dim=1)

    def finished(self, numbers: Floats) -> Floats:
        """(steps, vitals, outputs) from what has arrived from many steps."""
        return numbers.reshape(len(numbers), len(self.owners), len(SUMMARY)).transpose(0, 2, 1)


def readers(outputs: Sequence[Output], tensors: Sequence[Tensor]) -> list[Sheets | Stack]:
    """Whoever reads these outputs, wherever they lie."""
    near = [output for output in outputs if tensors[output.place].is_cpu]
    far: dict[object, list[Output]] = defaultdict(list)
    for output in outputs:
        if not (tensor := tensors[output.place]).is_cpu:
            far[output.cut, output.shape, output.dtype, tensor.device].append(output)
    found: list[Sheets | Stack] = [Stack(alike) for alike in far.values()]
    return [Sheets(near), *found] if near else found


def _sheets(outputs: Sequence[Output]) -> Iterator[list[Output]]:
    """Side by side go those with equally many samples, equal widths and kinds together."""

    def kin(output: Output) -> int:
        return output.cut.samples

    def within(output: Output) -> tuple[int, str]:
        return output.cut.units, output.kind.name if output.kind is not None and output.saturates else ""

    for _, alike in groupby(sorted(outputs, key=lambda each: (kin(each), within(each))), key=kin):
        sheet: list[Output] = []
        for output in alike:
            if sheet and _elements([*sheet, output]) > SHEET:
                yield sheet
                sheet = []
            sheet.append(output)
        yield sheet


def _elements(sheet: Sequence[Output]) -> int:
    return sheet[0].cut.samples * sum(output.cut.units for output in sheet)


def _runs(outputs: Sequence[Output]) -> Iterator[tuple[Kind, slice]]:
    """The columns of neighbours that saturate alike."""
    start = 0
    for kind, alike in groupby(outputs, key=lambda output: output.kind if output.saturates else None):
        end = start + sum(output.cut.units for output in alike)
        if kind is not None:
            yield kind, slice(start, end)
        start = end


def _array(output: Output, tensor: Tensor, turn: int) -> NDArray[np.floating]:
    """What is looked at of it, in a precision that numpy knows."""
    if tensor.dtype in EXACT:
        return output.cut.of(array_view(_in_one_piece(tensor)), turn)
    return output.cut.of(_in_one_piece(tensor), turn).float().numpy(force=True)


def _in_one_piece(tensor: Tensor) -> Tensor:
    """Images whose channels come last in memory, in that order: otherwise all of them would be copied to look at a
    few, and which unit is which does not matter here."""
    if tensor.dim() == 4 and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=torch.channels_last):
        return tensor.permute(0, 2, 3, 1)
    return tensor


def _variation(square: Floats, explained: Floats, counts: Floats) -> Floats:
    """What is left of the mean square when the means along one direction are taken out, as a share of the RMS."""
    left = np.sqrt(np.maximum(square - explained, 0.0) / square)
    return np.where(counts < MIN_SAMPLES, MISSING, np.where(square > 0, left, 0.0))


def _variation_of(values: Tensor, square: Tensor, direction: int) -> Tensor:
    """The same on a device."""
    if values.shape[direction] < MIN_SAMPLES:
        return torch.full_like(square, MISSING)
    explained = values.double().mean(direction).square().mean(1)
    left = ((square - explained).clamp(min=0) / square).sqrt()
    return torch.where(square > 0, left, torch.zeros_like(left))
