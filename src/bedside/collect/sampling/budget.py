"""The budget: bedside measures what it costs and chooses how often each vital is read, to stay within its share.

Three kinds of cost. The *floor* is paid at every step: the loss, the learning rate, and writing them down. *Listening*
is paid at steps whose moments collectors hear. Everything else belongs to a vital group and is paid when that group is
read. What the budget leaves after the floor is divided among the groups, listening being one of them, and each gets the
shortest interval of the ladder that its part pays for; one that needs less than its part leaves the rest to the others.

A timer inside a hook sees less than a run feels: the caches that were displaced and the dispatch around the hook are
the user's step afterwards. Measured on a small MLP the real cost was 1.45 times the timed one, hence `UNSEEN`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from statistics import median

from bedside.collect.sampling.intervals import FULL_STEPS, GRACE_STEPS, LADDER, Cadence, rung

UNSEEN = 1.5  # real over timed cost, rounded up from 1.45 (measured on a 1 ms step, where it is largest)
SETTLED = 20  # steps left out of every average: first calls allocate and compile
GRACE = 1.0  # seconds in all that full recording may take beyond FULL_STEPS: a short run is then told in full
LOOKING = 0.1  # part of the budget that live alarms may use; see alarms.py
LISTENING = "listening"
PARTS = {LISTENING: 0.2, "gradients": 0.25, "updates": 0.3}  # of what is left; the other groups share the rest equally
SUMS = ("gradients", "updates", "activations")  # the groups that machine code reads sooner; see native.py
QUIET = 10e-6  # seconds a quiet step takes, until some have been timed (measured: 5 to 20 µs)
REVIEW = 100  # steps between two choices of the intervals, up to a thousand; then every thousand
RECENT = 20  # reads whose median is a group's cost: one that met somebody else's work must not set the cadence


class Governor:
    """Keeps the books, and sets the cadence every so many steps."""

    def __init__(self, cadence: Cadence, budget: float | None, *, fixed: bool = False) -> None:
        self.cadence = cadence
        self.budget = budget
        self.total = 0.0  # seconds timed, everything
        self.looking = 0.0  # of these, seconds in which rules were asked
        self.writing = 0.0  # and seconds in which rows were made and written
        self.summing = 0.0  # and seconds in which sums were added up, which machine code does sooner
        self.training = 0.0  # seconds of all steps, ours included
        self._fixed = fixed  # several ranks: clocks differ, so intervals must not depend on them
        self._groups = 0.0  # of the total, seconds that groups took, moments included
        self._recent: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=RECENT))
        self._steps = self._quiet_steps = 0
        self._before = 0.0  # seconds of listening and reading, at the end of the last step
        self._review_at = 0
        self._writes: deque[float] = deque(maxlen=RECENT)  # seconds a step that writing took, where most were quiet
        self._written = 0  # quiet steps that have been written
        self._since = (0, 0, 0.0, 0.0, 0.0, 0.0)  # when the intervals were last reviewed; see `_books`
        if not fixed:
            cadence.full_until = GRACE_STEPS

    def add(self, group: str, seconds: float) -> None:
        """A group was read."""
        self._groups += seconds
        if group in SUMS:
            self.summing += seconds
        self._recent[group].append(seconds)

    def wrote(self, seconds: float, steps: int) -> None:
        """Rows of so many steps were made and written."""
        self.writing += seconds
        rested, self._written = self._quiet_steps - self._written, self._quiet_steps
        if rested > steps / 2:
            self._writes.append(seconds / steps)

    def step_took(self, step: int, seconds: float) -> None:
        """A step that was listened to is over; `seconds` include ours."""
        self.add(LISTENING, max(self.total - self.looking - self.writing - self._groups - self._before, 0.0))
        self._count(step, 1, seconds)

    def rested(self, step: int, steps: int, seconds: float) -> None:
        """So many quiet steps are over, up to this one."""
        self._quiet_steps += steps
        self._count(step, steps, seconds)

    def _count(self, step: int, steps: int, seconds: float) -> None:
        self._before = self.total - self.looking - self.writing - self._groups
        early = self._steps < SETTLED
        self._steps += steps
        if seconds == seconds:
            self.training += seconds
        if early and self._steps >= SETTLED:
            self._since = self._books()
        if self.budget is None:
            self.cadence.full_until = step + 2
        elif not early:
            self._review_if_due(step)

    def _review_if_due(self, step: int) -> None:
        cadence = self.cadence
        if FULL_STEPS <= step < cadence.full_until and self.total - self.looking > GRACE:
            cadence.full_until = step + 1
        if step + 1 < cadence.full_until or step < self._review_at:
            return
        self._review_at = (step // REVIEW + 1) * REVIEW if step < 1000 else (step // 1000 + 1) * 1000
        groups = [group for group in self._recent if group != LISTENING]
        if self._fixed:
            cadence.set({LISTENING: 10, **{group: 10 if group in PARTS else 50 for group in groups}})
        else:
            costs = {group: median(seconds) for group, seconds in self._recent.items()}
            cadence.set(intervals(costs, self._left()))
        self._since = self._books()

    def _left(self) -> float:
        """Seconds a step that the groups may take, since the last review."""
        since = [now - then for now, then in zip(self._books(), self._since, strict=True)]
        steps, quiet, groups, listening, total, training = since
        step = max((training - total) / max(steps, 1), 0.0)  # without us
        floor = max(listening - groups, 0.0) / quiet if quiet > steps / 2 else QUIET
        floor += median(self._writes) if self._writes else 0.0
        return (self.budget or 0.0) * (1 - LOOKING) * step / UNSEEN - floor

    def _books(self) -> tuple[int, int, float, float, float, float]:
        listening = self.total - self.looking - self.writing
        return self._steps, self._quiet_steps, self._groups, listening, self.total, self.training

    @property
    def share(self) -> float:
        """What watching has cost so far, as a part of the time the training itself took."""
        own = self.total * UNSEEN
        return own / (self.training - own) if self.training > own else 0.0

    def described(self) -> dict[str, object]:
        """For the record: what it cost and how often each group was read."""
        every = {group: self.cadence.every.get(group, 1) for group in sorted(self._recent)}
        floor = (self.total - self.looking - self._groups) / max(self._steps, 1)
        return {
            "share": self.share,
            "budget": self.budget,
            "every": every,
            "microseconds": {group: 1e6 * median(self._recent[group]) for group in every},
            "floor_microseconds": 1e6 * floor,
            "full_steps": self.cadence.full_until,
        }


def intervals(costs: Mapping[str, float], left: float) -> dict[str, int]:
    """How often each group may be read, when reading costs that much and so much is left for all, per step.

    >>> intervals({"gradients": 2e-3, "updates": 4e-3}, left=1e-3)
    {'gradients': 5, 'updates': 10}
    >>> intervals({"gradients": 1e-5, "updates": 4e-3}, left=1e-3)
    {'gradients': 1, 'updates': 5}
    """
    if left <= 0:
        return dict.fromkeys(costs, LADDER[-1])
    others = [group for group in costs if group not in PARTS]
    parts = {group: PARTS.get(group, (1 - sum(PARTS.values())) / max(len(others), 1)) for group in costs}
    every: dict[str, int] = {}
    while cheap := [g for g in parts if costs[g] <= left * parts[g] / sum(parts.values())]:
        for group in cheap:  # read at every step; what it leaves of its part is there for the others
            every[group] = 1
            left -= costs[group]
            del parts[group]
    whole = sum(parts.values())
    every |= {g: rung(costs[g] * whole / (part * left)) if left > 0 else LADDER[-1] for g, part in parts.items()}
    # Whatever is read needs a step that is listened to, which costs as well.
    return {group: max(every[group], every.get(LISTENING, 1)) for group in costs}
