"""One step as it was observed: plain numbers, and pending values for those that are still on the device.

Fast-path steps have lists of their own instead (`fast_path.py`), and both become the same columns when they are
flushed (`common_rows.py`, `reading/norm_rows.py`). One shape for both was tried: as steps of this kind, fast-path
steps take 3.8 microseconds each to flush instead of 0.1 (measured), most of the budget of a step of half a
millisecond; as lists, what an ordinary step may have (many optimizers, micro-batches, clip calls, parts of updates)
stays an object of its own, in columns that are empty at every other step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.collect.model.parameter_layout import Layout
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.step.clipping import ClipCall
from bedside.collect.step.loss_parts import Origin

Members = NDArray[np.int64] | None  # positions in the layout; None: all
Number = float | PendingValue


@dataclass(slots=True)
class Gradients:
    """Squared gradient norms of some parameters, as the optimizer saw them."""

    members: Members
    squares: PendingValue
    absent: tuple[int, ...] = ()  # positions whose .grad was None
    scale: PendingValue | None = None  # still multiplied by this loss scale
    unclipped: bool = False  # read before the clip calls of this step, not after them


@dataclass(slots=True)
class Unclipped:
    """Squared gradient norms of some parameters before they were clipped by value or by hand."""

    members: Members
    squares: PendingValue
    largest: PendingValue  # absolute element
    threshold: float | None  # of the call; None: there was none, and perhaps no clipping either
    largest_after: PendingValue | None = None  # where there was none: what the optimizer got


@dataclass(slots=True)
class Moves:
    """Squared norms of what a step changed and of the weights after it."""

    members: Members
    updates: PendingValue
    weights: PendingValue


@dataclass(slots=True)
class PartMoves:
    """The same for one part of the parameters, with the gradient of that part; see `partial_updates.py`."""

    part: int
    places: NDArray[np.int64]  # positions in the layout of those that the part touches
    members: NDArray[np.int64]  # positions of all that this optimizer holds,
    last: NDArray[np.int64]  # and the part that completes each of them
    updates: PendingValue
    weights: PendingValue
    gradients: PendingValue


@dataclass(slots=True)
class StepData:
    """Everything known about one step. An uneventful one is a handful of numbers: it is made at every step."""

    step: int
    time: float
    layout: Layout
    epoch: float | None = None
    seconds: float = float("nan")
    losses: Sequence[Sequence[Number]] = ()  # per optimizer, its backward passes
    divisors: Sequence[Sequence[tuple[float, ...] | None]] = ()
    origins: Sequence[tuple[Sequence[Origin | None], int]] = ()  # how they were made, and by how many forwards
    grads_not_zeroed: bool | None = None
    discarded: int = 0  # backward passes whose gradients nobody used
    rates: Mapping[str, Number] | None = None  # by owner: "" or "group_1", …
    clips: Sequence[tuple[ClipCall, Number]] = ()
    gradients: Sequence[Gradients] = ()
    unclipped: Sequence[Unclipped] = ()
    moves: Sequence[Moves] = ()
    part_moves: Sequence[PartMoves] = ()
    loss_scale: PendingValue | None = None
    found_inf: PendingValue | None = None  # a fused optimizer had to skip
    skipped: bool | None = None  # None: there is no scaler


def number(value: Number) -> float:
    """The number itself, or what its pending value was good for."""
    return value.number if isinstance(value, PendingValue) else value
