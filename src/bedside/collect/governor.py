"""The budget: bedside measures what it costs and chooses how often each vital is read, to stay within its share.

Two kinds of cost. The *floor* is paid at every step (hooks, the loss, the learning rate). Everything else belongs to a
vital group and is paid when that group is read. What the budget leaves after the floor is divided among the groups, and
each gets the shortest interval of the ladder that its part pays for.

A timer inside a hook sees less than a run feels: the caches that were displaced and the dispatch around the hook are
the user's step afterwards. Measured on a small MLP the real cost was 1.45 times the timed one, hence `UNSEEN`.
"""

from __future__ import annotations

from collections import defaultdict

from bedside.collect.cadence import FULL_STEPS, GRACE_STEPS, LADDER, Cadence, rung

UNSEEN = 1.5  # real over timed cost, rounded up from 1.45 (measured on a 1 ms step, where it is largest)
SETTLED = 20  # steps left out of the floor: first calls allocate and compile
GRACE = 0.25  # seconds in all that full recording may take beyond FULL_STEPS: a short run is then told in full
LOOKING = 0.2  # part of the budget that live alarms may use; see alarms.py
PARTS = {"gradients": 0.35, "updates": 0.4}  # of what is left; the other groups share the rest equally
REVIEW = 100  # steps between two choices of the intervals, up to a thousand; then every thousand


class Governor:
    """Keeps the books, and sets `cadence.every` at the steps of `REVIEW`."""

    def __init__(self, cadence: Cadence, budget: float | None, *, fixed: bool = False) -> None:
        self.cadence = cadence
        self.budget = budget
        self.total = 0.0  # seconds timed, everything
        self.training = 0.0  # seconds of all steps, ours included
        self._fixed = fixed  # several ranks: clocks differ, so intervals must not depend on them
        self._spent: dict[str, float] = defaultdict(float)
        self._reads: dict[str, int] = defaultdict(int)
        self._settled_at = (0.0, 0.0, 0.0)  # floor, own and step time when the first steps were over
        self._steps = 0
        if not fixed:
            cadence.full_until = GRACE_STEPS

    def add(self, group: str, seconds: float) -> None:
        """A group was read."""
        self._spent[group] += seconds
        self._reads[group] += 1

    def step_took(self, step: int, seconds: float) -> None:
        """A step is over, ours included; at some steps the intervals are reviewed."""
        self._steps += 1
        if seconds == seconds:
            self.training += seconds
        if self._steps == SETTLED:
            self._settled_at = (self._floor, self.total, self.training)
        if self.budget is None:
            self.cadence.full_until = step + 2
        elif self._steps > SETTLED:
            ends = step + 1 == self.cadence.full_until
            if FULL_STEPS <= step < self.cadence.full_until and self.total > GRACE:
                self.cadence.full_until, ends = step + 1, True
            if ends or (step >= self.cadence.full_until and step % (REVIEW if step < 1000 else 1000) == 0):
                self._review()

    @property
    def share(self) -> float:
        """What watching has cost so far, as a part of the time the training itself took."""
        own = self.total * UNSEEN
        return own / (self.training - own) if self.training > own else 0.0

    def described(self) -> dict[str, object]:
        """For the record: what it cost and how often each group was read."""
        return {
            "share": self.share,
            "budget": self.budget,
            "every": {group: self.cadence.every.get(group, 1) for group in sorted(self._spent)},
            "microseconds": {g: 1e6 * self._spent[g] / max(self._reads[g], 1) for g in sorted(self._spent)},
            "floor_microseconds": 1e6 * self._floor / max(self._steps, 1),
            "full_steps": self.cadence.full_until,
        }

    @property
    def _floor(self) -> float:
        return self.total - sum(self._spent.values())

    def _review(self) -> None:
        if self._fixed:
            self.cadence.set({group: 10 if group in PARTS else 50 for group in self._spent})
            return
        floor_then, own_then, training_then = self._settled_at
        steps = self._steps - SETTLED
        step = max((self.training - training_then - (self.total - own_then)) / steps, 1e-9)  # without us
        floor = (self._floor - floor_then) / steps
        left = (self.budget or 0.0) * (1 - LOOKING) * step / UNSEEN - floor
        others = [group for group in self._spent if group not in PARTS]
        every = {}
        for group, spent in self._spent.items():
            part = PARTS.get(group, (1 - sum(PARTS.values())) / max(len(others), 1))
            cost = spent / max(self._reads[group], 1)
            every[group] = rung(cost / (part * left)) if left > 0 else LADDER[-1]
        self.cadence.set(every)
