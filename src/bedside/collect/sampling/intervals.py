"""Which vitals run at which steps: decided by the step number alone, so that all ranks decide alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

FULL_STEPS = 20  # the first steps, where most bugs show, are recorded in full, whatever that costs
EARLY_STEPS = 100  # rows are written, and parameters looked over, more often until here
GRACE_STEPS = 500  # and so are these, as far as the budget allows; see there
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # intervals: round numbers, so that groups meet at the same steps
DENSE_STEPS = 50  # after an alarm the vitals are read more closely for this long
DENSE_FACTOR = 10  # times as often, within the dense sampling


class Intervals:
    """Every vital group has an interval; the budget may change it between steps."""

    def __init__(self, every: dict[str, int] | None = None) -> None:
        self.every = dict(every or {})
        self.full_until = FULL_STEPS
        self.longest = LADDER[-1]  # whatever the groups' own intervals are
        self._dense_until = -DENSE_FACTOR * DENSE_STEPS  # long ago
        self._fast = range(0)

    def due(self, group: str, step: int) -> bool:
        if step < self.full_until:
            return True
        return step % self._interval(group, step) == 0

    def _interval(self, group: str, step: int) -> int:
        interval = min(self.every.get(group, 1), self.longest)
        return max(1, interval // DENSE_FACTOR) if step < self._dense_until else interval

    def fast_steps(self, step: int) -> int:
        """For how many steps, from this one on, it is known that nothing is due."""
        return self._fast.stop - step if step in self._fast else 0

    def plan_fast_path(self, step: int, groups: Iterable[str]) -> None:
        """Work out until when nothing is due, from this step on."""
        self._fast = range(0)
        if step >= self.full_until:
            until = min((_next(step, self._interval(group, step)) for group in groups), default=step)
            self._fast = range(step, min(until, self._dense_until) if step < self._dense_until else until)

    def set(self, every: Mapping[str, int]) -> None:
        """Other intervals from now on."""
        self.every = dict(every)
        self._fast = range(0)

    def start_dense_sampling(self, step: int) -> None:
        """Something began: look more closely for a while. A dense sampling under way is not prolonged, so phases of
        dense sampling stay rare."""
        if step >= self._dense_until + DENSE_FACTOR * DENSE_STEPS:
            self._dense_until = step + DENSE_STEPS
            self._fast = range(0)


def ladder_interval(interval: float) -> int:
    """The ladder's first interval that is at least this long."""
    return next((step for step in LADDER if step >= interval), LADDER[-1])


def _next(step: int, interval: int) -> int:
    """The first multiple of the interval at or after this step."""
    return -(-step // interval) * interval
