"""Which vitals run at which steps: decided by the step number alone, so that all ranks decide alike."""

from __future__ import annotations

FULL_STEPS = 100  # the first steps, where most bugs show, are recorded in full


class Cadence:
    """Every vital group has an interval; the governor may change it at known steps."""

    def __init__(self, every: dict[str, int] | None = None) -> None:
        self.every = dict(every or {})

    def due(self, group: str, step: int) -> bool:
        return step < FULL_STEPS or step % self.every.get(group, 1) == 0
