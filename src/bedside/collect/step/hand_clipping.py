"""Clipping that the training loop does by hand: `p.grad.clamp_(-1, 1)`, or a factor worked out from the norm.

No hook reports it, so the gradient is read twice: after the backward pass and when the optimizer gets it. Most loops do
not touch it in between, so this is done at the first steps and at a few later ones, and at all steps once something has
changed. Where torch is called to clip, the first reading is useless, and after a few steps it is seldom made. Not every
edit is clipping (a division by the number of micro-batches, a penalty, noise): clipping leaves the same largest
element, or the same norm, step after step, whatever there was before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bedside.collect.step.clipping import Clip, ClipCall, Clipped, ClippedByValue
from bedside.collect.step.step_data import StepData, Unclipped

FIRST = 20  # steps whose gradients are read twice
REPORTED = 3  # clip calls in a row, after which no other clipping is expected
SELDOM = 8  # later, one in so many
ROUNDING = 1e-5  # of a norm: another order of summing makes less
SAME = 1e-3  # by which thresholds of two steps may differ: some divide by the norm plus a millionth
OTHER = 1e-2  # by which norms before clipping must differ, to tell a threshold from a factor


class HandClipping:
    """When to read twice, and what the two readings mean."""

    def __init__(self) -> None:
        self._turn = 0
        self._reported = 0  # steps in a row that were read in vain: a clip call followed
        self.edits = False
        self._found: tuple[str, float] | None = None  # "value" or "norm", and the threshold
        self._candidates: dict[str, tuple[float, float]] = {}  # of the last edit: threshold, and what there was before

    @property
    def is_due(self) -> bool:
        """Whether the gradients of the next step that is read are read twice."""
        at_first = self._turn < FIRST and self._reported < REPORTED
        return self.edits or at_first or self._turn % SELDOM == 0

    def step_was_read(self, twice: bool) -> None:
        """A step is over whose gradients were read; `twice`: no clip call came in between."""
        self._turn += 1
        self._reported = 0 if twice else self._reported

    def clip_call_came(self) -> None:
        """After the first reading of a step, which is of no use now."""
        self._reported += 1

    def learn(self, steps: Sequence[StepData]) -> None:
        """From steps that were read twice, once their numbers have arrived."""
        for data in steps:
            for each in by_hand(data):
                self._learn(each, data)

    def clip_of(self, data: StepData) -> Clip | None:
        """What was clipped at a step that was read twice."""
        if self._found is None:
            return None
        for each in by_hand(data):
            kind, threshold = self._found
            if kind == "value":
                return ClippedByValue(threshold, each.largest.number)
            total = float(np.sqrt(each.squares.numbers.sum()))
            return Clipped([(ClipCall(None, threshold), total)], threshold, total)
        return None

    def _learn(self, read: Unclipped, data: StepData) -> None:
        before, after = read.squares.numbers, data.gradients[0].squares.numbers
        largest, left = read.largest.number, read.largest_after.number if read.largest_after is not None else np.nan
        norm, norm_left = float(np.sqrt(before.sum())), float(np.sqrt(after.sum()))
        if not (np.isfinite(norm) and np.isfinite(norm_left)) or abs(norm - norm_left) <= ROUNDING * norm:
            return
        self.edits = True
        if self._found is not None or norm_left > norm:
            return
        candidates = {}
        if left < largest * (1 - ROUNDING):
            candidates["value"] = (left, largest)
        if is_one_factor(before, after):
            candidates["norm"] = (norm_left, norm)
        for kind, (threshold, was) in candidates.items():
            last, was_last = self._candidates.get(kind, (np.nan, np.nan))
            if abs(threshold - last) <= SAME * threshold and abs(was - was_last) > OTHER * was:
                self._found = (kind, threshold)
        self._candidates = candidates


def by_hand(data: StepData) -> list[Unclipped]:
    """What was read twice at a step of which no clip call is known."""
    return [each for each in data.unclipped if each.threshold is None and not data.clips and data.gradients]


def is_one_factor(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Whether all gradients were multiplied by the same number.

    >>> is_one_factor(np.asarray([4.0, 9.0]), np.asarray([1.0, 2.25])), is_one_factor(np.ones(2), np.asarray([1, 0.5]))
    (True, False)
    """
    there = before > 0
    factors = np.sqrt(after[there] / before[there])
    return bool(len(factors)) and float(np.ptp(factors)) <= SAME * float(factors.max())
