"""A few thousand elements of a tensor, spread evenly over samples and units, without copying it.

A stride that divides a dimension would always look at the same positions (measured on a language model: standard
deviations wrong by up to 93 %), so strides share no factor with what they stride over, and where they begin moves on
from sample to sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.model.shards import local

ELEMENTS = 4096  # a share of zeros is then known to 0.8 points, a mean to 1.6 % of the spread
ROWS = 64  # of these, so that both directions have enough to judge variation by
COPIED = 1 << 16  # elements up to which a tensor with gaps is copied whole

Whole = TypeVar("Whole", Tensor, NDArray[np.floating])


def sample(tensor: Tensor, turn: int, most: int = ELEMENTS) -> Tensor:
    """A one-dimensional view of at most `most` elements; equally many for tensors of the same size."""
    tensor = local(tensor.detach())
    count = tensor.numel()
    if count <= most:
        return tensor.reshape(-1)
    if _is_dense(tensor):  # in memory order: for statistics any order is as good
        offset, stride, length = spread(count, most, turn)
        return tensor.as_strided((length,), (stride,), tensor.storage_offset() + offset)
    if count <= COPIED:
        offset, stride, length = spread(count, most, turn)
        return tensor.reshape(-1)[offset : offset + length * stride : stride]
    # With gaps between its elements: a few slices, each whole.
    slices = max(1, most * len(tensor) // count)
    return sample(tensor[turn % (len(tensor) - slices + 1) :][:slices].reshape(-1), turn, most)


class Cut(NamedTuple):
    """At most `ELEMENTS` elements of tensors of one shape, as a table of (samples, units): every how many rows and
    columns, and how many of them."""

    rows: int  # of the whole tensor
    columns: int
    row_step: int
    samples: int
    column_step: int
    units: int

    @staticmethod
    def for_shape(shape: Sequence[int], features_last: bool) -> Cut:
        """With features in the last dimension every position is a sample of its own, as tokens are; otherwise (channels
        of an image) a sample is one element of the batch, and its units are everything else."""
        count = math.prod(shape)
        if len(shape) < 2:
            return Cut(1, count, 1, 1, 1, min(count, ELEMENTS))
        rows = count // shape[-1] if features_last else shape[0]
        columns = count // rows
        if count <= ELEMENTS:
            return Cut(rows, columns, 1, rows, 1, columns)
        _, row_step, samples = spread(rows, max(ROWS, ELEMENTS // columns), 0)
        _, column_step, units = spread(columns, max(1, ELEMENTS // samples), 0)
        return Cut(rows, columns, row_step, samples, column_step, units)

    @property
    def whole(self) -> bool:
        return self.samples == self.rows and self.units == self.columns

    def of(self, whole: Whole, turn: int) -> Whole:
        """A view of such a tensor, or array; the turn decides where rows and columns begin."""
        if self.whole:
            return whole if whole.ndim == 2 else whole.reshape(self.rows, self.columns)
        top, left = turn % self.row_step, turn % self.column_step
        bottom, right = top + self.samples * self.row_step, left + self.units * self.column_step
        return whole.reshape(self.rows, self.columns)[top : bottom : self.row_step, left : right : self.column_step]


def spread(count: int, most: int, turn: int) -> tuple[int, int, int]:
    """(first, stride, how many) of `count` places; how many depends on the sizes alone, the first on the turn."""
    if count <= most:
        return 0, 1, count
    stride = coprime_stride(count, most)
    length = (count - stride + 1) // stride
    return turn % stride, stride, max(1, length)


def coprime_stride(count: int, most: int) -> int:
    """The first stride that leaves at most `most` places and has no factor in common with `count`."""
    stride = -(-count // most)
    while math.gcd(stride, count) != 1:
        stride += 1
    return stride


def _is_dense(tensor: Tensor) -> bool:
    if tensor.is_contiguous():
        return True
    if tensor.layout is not torch.strided:
        return False
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return reach + 1 == tensor.numel() and all(tensor.stride())
