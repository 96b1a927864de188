"""Histograms in bins that never change, so that any two can be added and compared.

A bin is a sign and a power of two: the numbers from 2^k up to 2^(k+1), and as many below zero. In the middle is the bin
of zero (with what is smaller than 2^-126); the outermost two hold infinities and NaN. `EDGES` has the borders. In the
record a step's histograms are one event, each a list: the first bin that is not empty, then the counts from there on.

>>> histogram = Histogram.of_values([0.5, 0.7, -3.0, 0.0])
>>> [(float(EDGES[i]), float(EDGES[i + 1]), int(n)) for i, n in enumerate(histogram.counts) if n and i != ZERO]
[(-4.0, -2.0, 1), (0.5, 1.0, 2)]
>>> (histogram + histogram).counts[ZERO]
np.int64(2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bedside.record.run import Run

KIND = "histograms"  # of the events
OF = ("weights", "gradients", "activations")
ZERO = 255
BINS = 2 * ZERO + 1
_POWERS = 2.0 ** np.arange(-126, 129)
EDGES = np.concatenate([[-np.inf], -_POWERS[::-1], _POWERS, [np.inf]])


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many of the elements that were looked at lie in each bin, at one step."""

    counts: NDArray[np.int64]
    step: int = 0

    @classmethod
    def of_values(cls, values: ArrayLike, step: int = 0) -> Histogram:
        bits = np.asarray(values, np.float32).reshape(-1).view(np.uint32)
        return cls(ordered(np.bincount(bits >> 23, minlength=512)), step)

    @classmethod
    def unpacked(cls, packed: Sequence[int], step: int) -> Histogram:
        counts = np.zeros(BINS, np.int64)
        counts[packed[0] : packed[0] + len(packed) - 1] = packed[1:]
        return cls(counts, step)

    def packed(self) -> list[int]:
        there = np.flatnonzero(self.counts)
        if not len(there):
            return [0]
        return [int(there[0]), *self.counts[there[0] : there[-1] + 1].tolist()]

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(self.counts + other.counts, max(self.step, other.step))

    def __len__(self) -> int:
        return int(self.counts.sum())


def ordered(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """From counts by the nine highest bits of a float32 (sign and exponent) to counts by size, smallest first."""
    found = np.empty(BINS, np.int64)
    found[:ZERO] = counts[511:256:-1]
    found[ZERO] = counts[256] + counts[0]
    found[ZERO + 1 :] = counts[1:256]
    return found


def histograms(run: Run, of: str, owner: str) -> list[Histogram]:
    """Of a run's weights, gradients (by parameter name) or activations (by module), one per step that has them."""
    events = run.events_of(KIND)
    return [Histogram.unpacked(e.data[of][owner], e.step) for e in events if owner in e.data.get(of, {})]


def owners(run: Run, of: str) -> list[str]:
    """Whose histograms there are."""
    return list(dict.fromkeys(owner for event in run.events_of(KIND) for owner in event.data.get(of, {})))
