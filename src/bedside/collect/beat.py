"""One step as it was heard: plain numbers, and tickets for those that are still on the device."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bedside.collect.clipping import ClipCall
from bedside.collect.freight import Ticket
from bedside.collect.layout import Layout

Members = NDArray[np.int64] | None  # positions in the layout; None: all


@dataclass
class Gradients:
    """Squared gradient norms of some parameters, as the optimizer saw them."""

    members: Members
    squares: Ticket
    absent: tuple[int, ...] = ()  # positions whose .grad was None
    scale: Ticket | None = None  # still multiplied by this loss scale


@dataclass
class Moves:
    """Squared norms of what a step changed and of the weights after it."""

    members: Members
    updates: Ticket
    weights: Ticket


@dataclass
class Beat:
    """Everything heard about one step."""

    step: int
    time: float
    layout: Layout
    seconds: float = float("nan")
    epoch: float | None = None
    losses: list[list[Ticket]] = field(default_factory=list)  # per optimizer, its micro-batches
    divisors: list[list[tuple[float, ...]]] = field(default_factory=list)
    uncleared: bool | None = None
    rates: dict[str, float | Ticket] = field(default_factory=dict)  # by owner: "" or "group_1", …
    clips: list[tuple[ClipCall, Ticket]] = field(default_factory=list)
    gradients: list[Gradients] = field(default_factory=list)
    moves: list[Moves] = field(default_factory=list)
    loss_scale: Ticket | None = None
    found_inf: Ticket | None = None  # a fused optimizer was told to skip
    skipped: bool | None = None  # None: there is no scaler
