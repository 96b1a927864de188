"""A schedule's learning rates before it is used."""

from __future__ import annotations

from typing import Any

from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    LinearLR,
    LRScheduler,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
)

from bedside.errors import NotEnough
from bedside.lab.experiments.schedules import Preview, preview


def previewed(scheduler: Any, steps: int) -> Preview:
    """The first `steps` steps of a schedule; raises NotEnough where it depends on more than the step."""
    if isinstance(scheduler, ReduceLROnPlateau):
        raise NotEnough("a schedule that depends on the step alone, not on a metric")
    inner = getattr(scheduler, "scheduler", scheduler)  # Accelerate wraps it
    if not isinstance(inner, LRScheduler):
        raise NotEnough("a scheduler of torch.optim.lr_scheduler's kind")
    return preview(inner, steps)


def rates_of(scheduler: Any, steps: int) -> list[tuple[float, ...]]:
    """The rates of every group at the first steps; empty where they cannot be known."""
    try:
        return list(previewed(scheduler, steps).rates)
    except NotEnough:
        return []


def horizon(scheduler: Any) -> int | None:
    """How many steps a schedule was made for, where it says so; warm restarts and steps without an end say nothing."""
    inner = getattr(scheduler, "scheduler", scheduler)
    if isinstance(inner, SequentialLR):
        last = horizon(inner._schedulers[-1])
        return None if last is None or not inner._milestones else int(inner._milestones[-1]) + last
    if isinstance(inner, CosineAnnealingLR):
        return int(inner.T_max)
    if isinstance(inner, OneCycleLR):
        return int(inner.total_steps)
    if isinstance(inner, PolynomialLR):
        return int(inner.total_iters)
    if isinstance(inner, LinearLR) and inner.end_factor < inner.start_factor:
        return int(inner.total_iters)
    return None
