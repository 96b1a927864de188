"""What a clip call reveals: the norm before clipping, the threshold, and so the factor that was applied.

Clipping by global norm scales all gradients alike, so the norms that the optimizer sees, divided by that factor, are
the norms before clipping: no second pass is needed. Clipping by value changes some elements more than others, so for it
gradients are read before the call (`unclipped_gradients.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.model.parameter_layout import Layout

OFF = 0.02  # of a norm: bfloat16 keeps it to half a percent
EPSILON = 1e-6  # torch's own: clip_grad_norm_ multiplies by max_norm / (total + 1e-6), at most 1


@dataclass(frozen=True, slots=True)
class ClipCall:
    """One call of clip_grad_norm_ on gradients of ours."""

    members: NDArray[np.int64] | None  # positions in the layout; None: all of them
    max_norm: float


@dataclass(frozen=True, slots=True)
class Clipped:
    """The combined effect of all clip calls of one step, once their numbers have arrived."""

    calls: Sequence[tuple[ClipCall, float]]
    threshold: float
    total: float

    @property
    def ratio(self) -> float:
        return self.total / self.threshold if self.threshold > 0 else math.inf

    @property
    def active(self) -> bool:
        return not self.ratio <= 1.0  # NaN counts: it clipped to nothing

    @property
    def whole(self) -> bool:
        """One call over all gradients: then its total is the norm of them all."""
        return len(self.calls) == 1 and self.calls[0][0].members is None

    @property
    def norm_after(self) -> float:
        """The norm that was left, where one call knew it all."""
        return self.total * _factor(self.threshold, self.total)

    def factors(self, parameters: int) -> NDArray[np.float64]:
        """What each parameter's gradient was multiplied by."""
        factors = np.ones(parameters)
        for call, total in self.calls:
            if call.members is None:
                factors *= _factor(call.max_norm, total)
            else:
                factors[call.members] *= _factor(call.max_norm, total)
        return factors


@dataclass(frozen=True, slots=True)
class ClippedByValue:
    """Every element was cut to this size; how much that removed is measured, not calculated."""

    threshold: float
    total: float  # the largest element before
    whole = False
    norm_after = math.nan

    @property
    def ratio(self) -> float:
        return self.total / self.threshold if self.threshold > 0 else math.inf

    @property
    def active(self) -> bool:
        return not self.ratio <= 1.0

    def factors(self, parameters: int) -> NDArray[np.float64]:
        return np.ones(parameters)


Clip = Clipped | ClippedByValue


def members_of(parameters: Sequence[Tensor], layout: Layout) -> NDArray[np.int64] | bool | None:
    """Which of our parameters a clip call was given: positions, None for all, False for none."""
    mine = layout.parameters
    if len(parameters) == len(mine) and parameters[0] is mine[0] and parameters[-1] is mine[-1]:
        return None
    positions = [layout.index[id(p)] for p in parameters if id(p) in layout.index]
    if not positions:
        return False
    return None if len(set(positions)) == len(mine) else np.unique(np.asarray(positions, np.int64))


def clipped(calls: Sequence[tuple[ClipCall, float]]) -> Clipped | None:
    """Put the calls of a step together. A call with max_norm=inf only measures and changes nothing."""
    real = [(call, total) for call, total in calls if math.isfinite(call.max_norm)]
    if not real:
        return None
    # Several groups clipped apart: show the one that was clipped hardest.
    call, total = max(real, key=lambda each: each[1] / each[0].max_norm if each[0].max_norm else math.inf)
    return Clipped(real, threshold=call.max_norm, total=total)


def clipped_by_value(calls: Sequence[tuple[float, float]]) -> ClippedByValue | None:
    """Thresholds and largest elements of the calls of a step: the one that was clipped hardest."""
    real = [ClippedByValue(threshold, largest) for threshold, largest in calls if math.isfinite(threshold)]
    return max(real, key=lambda each: each.ratio) if real else None


class ClipTotals:
    """Whether what clip calls measured is the norm that the gradient had: other norms, gradients of other models in the
    same call and gradients that were cut by value before it are not. Known from steps whose gradients were read."""

    def __init__(self) -> None:
        self.are_norms = True

    def compare(self, clip: Clip | None, squares_after: NDArray[np.float64]) -> None:
        """With the squared norms of the gradients of a step, as the optimizer got them."""
        if not isinstance(clip, Clipped) or not clip.whole:
            return
        left = float(np.sqrt(squares_after.sum()))
        expected = clip.norm_after
        if math.isfinite(left) and math.isfinite(expected) and abs(left - expected) > OFF * max(left, expected):
            self.are_norms = False


def _factor(max_norm: float, total: float) -> float:
    factor = max_norm / (total + EPSILON)
    return min(factor, 1.0) if factor == factor else math.nan
