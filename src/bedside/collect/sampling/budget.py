"""The budget: bedside measures what it costs and chooses how often each vital is read, to stay within its share.

Three kinds of cost. The *floor* is paid at every step: the loss, the learning rate, and writing them down. *Listening*
is paid at steps at which collectors are called. Everything else belongs to a vital group and is paid when that group is
read. What the budget leaves after the floor is divided among the groups, listening being one of them, and each gets the
shortest interval of the ladder that its part pays for; one that needs less than its part leaves the rest to the others.

A timer inside a hook measures less than the run loses: displaced caches and the dispatch around the hook slow down the
user's own code afterwards. The run itself shows how much: an observed step without its timed part still takes longer
than a fast-path step, and the difference is what no timer saw.

The first twenty steps are recorded in full, and then as many as a small share of the first 500 pays for. Where steps
are quick, the following ones are read more often than the budget alone would allow, up to what the first 500 steps may
take together: a short run that was read only at its very beginning could hardly be judged.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from statistics import median

from bedside.collect.sampling.intervals import FULL_STEPS, GRACE_STEPS, LADDER, Intervals, ladder_interval

UNTIMED_FACTOR = 1.5  # real over timed cost until a run has shown its own (measured: 1.2 to 1.45 on a 1 ms step)
MAX_UNTIMED = 3.0  # times the timed cost: more than that is somebody else's work
WARMUP_STEPS = 20  # steps left out of every average: first calls allocate and compile
START_SHARE = 0.05  # of the first 500 steps' own time, for everything
FULL_RECORDING_SHARE = 0.02  # of the same: with early looks (0.02) and the later share (0.01) that is all of it
QUICK_STEP_SECONDS = 5e-3  # 500 steps in 2.5 s: a run that is over before anybody looks
QUICK_START_INTERVALS = (10, 50)  # steps between two readings of quick ones until step 500: what is left decides
FULL_STEPS_OF_RANKS = 100  # several ranks have no common clock, so this number is fixed
ONCE_SHARE = 0.1  # part of the budget so far that work may take which is done once, such as loading native code
ALARM_SHARE = 0.1  # part of the budget that live alarms may use; see alarms.py
MOMENTS_GROUP = "listening"
GROUP_SHARES = {
    MOMENTS_GROUP: 0.2,
    "gradients": 0.25,
    "updates": 0.3,
}  # of what is left; the other groups share the rest equally
NATIVE_GROUPS = ("gradients", "updates", "activations")  # the groups that native code reads sooner; see native/sums.py
FAST_STEP_SECONDS = 10e-6  # seconds a fast-path step takes, until some have been timed (measured: 5 to 20 µs)
REVIEW_INTERVAL = 100  # steps between two choices of the intervals, up to a thousand; then every thousand
RECENT_READS = 20  # reads whose median is a group's cost: one that met somebody else's work must not set the intervals


class Budget:
    """Accounts for the time spent, and sets the intervals every so many steps."""

    def __init__(self, intervals: Intervals, limit: float | None, *, fixed: bool = False) -> None:
        self.intervals = intervals
        self.limit = limit
        self.total = 0.0  # seconds timed, everything
        self.alarm_seconds = 0.0  # of these, seconds in which rules ran
        self.write_seconds = 0.0  # and seconds in which rows were made and written
        self.sum_seconds = 0.0  # and seconds in which sums were added up, which native code does sooner
        self.training = 0.0  # seconds of all steps, ours included
        self._fixed = fixed  # several ranks: clocks differ, so intervals must not depend on them
        self._groups = 0.0  # of the total, seconds that groups took, moments included
        self._recent: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=RECENT_READS))
        self._unwatched: deque[float] = deque(maxlen=RECENT_READS)  # seconds of the newest observed steps without ours,
        self._observed: deque[float] = deque(maxlen=RECENT_READS)  # seconds of ours at the same steps,
        self._skipped: deque[float] = deque(maxlen=RECENT_READS)  # and seconds of fast-path steps, the newest runs
        self._spent_before = 0.0  # seconds of everything, at the end of the last step
        self._steps = self._fast_steps = 0
        self._before = 0.0  # seconds of listening and reading, at the end of the last step
        self._review_at = 0
        self._writes: deque[float] = deque(
            maxlen=RECENT_READS
        )  # seconds a step that writing took, where most took the fast path
        self._written = 0  # fast-path steps that have been written
        self._since = (0, 0, 0.0, 0.0, 0.0, 0.0)  # when the intervals were last reviewed; see `_books`
        intervals.full_until = FULL_STEPS_OF_RANKS if fixed else GRACE_STEPS

    def add(self, group: str, seconds: float) -> None:
        """A group was read."""
        self._groups += seconds
        if group in NATIVE_GROUPS:
            self.sum_seconds += seconds
        self._recent[group].append(seconds)

    def wrote(self, seconds: float, steps: int) -> None:
        """Rows of so many steps were made and written."""
        self.write_seconds += seconds
        fast_steps_took, self._written = self._fast_steps - self._written, self._fast_steps
        if steps and fast_steps_took > steps / 2:
            self._writes.append(seconds / steps)

    def step_took(self, step: int, seconds: float) -> None:
        """A step that was observed is over, and all of ours is booked; `seconds` include it."""
        self.add(
            MOMENTS_GROUP, max(self.total - self.alarm_seconds - self.write_seconds - self._groups - self._before, 0.0)
        )
        if seconds == seconds:
            ours = self.total - self._spent_before
            self._unwatched.append(max(seconds - ours, 0.0))
            self._observed.append(ours)
        self._count(step, 1, seconds)

    def fast_steps_took(self, step: int, steps: int, seconds: float, usual: float) -> None:
        """So many fast-path steps are over, up to this one; one of them usually took so many seconds."""
        self._fast_steps += steps
        self._skipped.append(usual)
        self._count(step, steps, seconds)

    def affords(self, seconds: float) -> bool:
        """Whether something that is done once may take so long: not before the run is so long that it does not show."""
        return self.limit is None or seconds <= ONCE_SHARE * self.limit * self.training

    def _count(self, step: int, steps: int, seconds: float) -> None:
        self._before = self.total - self.alarm_seconds - self.write_seconds - self._groups
        self._spent_before = self.total
        early = self._steps < WARMUP_STEPS
        self._steps += steps
        if seconds == seconds:
            self.training += seconds
        if early and self._steps >= WARMUP_STEPS:
            self._since = self._books()
        if self.limit is None:
            self.intervals.full_until = step + 2
        elif not early:
            self._review_if_due(step)

    def _review_if_due(self, step: int) -> None:
        intervals = self.intervals
        if not self._fixed and step >= FULL_STEPS and self._unwatched:
            self._watch_start(step, median(self._unwatched))
        if step + 1 < intervals.full_until or step < self._review_at:
            return
        self._review_at = (step // REVIEW_INTERVAL + 1) * REVIEW_INTERVAL if step < 1000 else (step // 1000 + 1) * 1000
        groups = [group for group in self._recent if group != MOMENTS_GROUP]
        if self._fixed:
            intervals.set({MOMENTS_GROUP: 10, **{group: 10 if group in GROUP_SHARES else 50 for group in groups}})
        else:
            costs = {group: median(seconds) for group, seconds in self._recent.items()}
            intervals.set(affordable_intervals(costs, self._stop_sampling()))
        self._since = self._books()

    def _watch_start(self, step: int, seconds: float) -> None:
        """Whether full recording has taken its share of the first steps, which take so many seconds each; and whether
        they are so quick that they are read more often than the budget would have it."""
        spent, intervals = self.total - self.alarm_seconds, self.intervals
        if step < intervals.full_until and UNTIMED_FACTOR * spent > FULL_RECORDING_SHARE * GRACE_STEPS * seconds:
            intervals.full_until = step + 1
        quick = step < GRACE_STEPS and seconds < QUICK_STEP_SECONDS
        intervals.longest = self._quick_interval(step, seconds) if quick else LADDER[-1]

    def _quick_interval(self, step: int, seconds: float) -> int:
        """How often what is left of the start's share pays for reading everything, until the start is over."""
        shortest, longest = QUICK_START_INTERVALS
        left = START_SHARE * GRACE_STEPS * seconds - self.untimed_factor * self.total
        reading = self.untimed_factor * sum(map(median, self._recent.values()))
        return shortest if left >= reading * (GRACE_STEPS - step) / shortest else longest

    def _stop_sampling(self) -> float:
        """Seconds a step that the groups may take, since the last review."""
        since = [now - then for now, then in zip(self._books(), self._since, strict=True)]
        steps, fast, groups, listening, total, training = since
        step = max((training - total) / max(steps, 1), 0.0)  # without us
        # Readings count as they usually are, and so must steps: a few that met somebody else's work, a validation or an
        # empty queue of batches would pay for readings that most steps cannot afford.
        step = min([step, *(median(each) for each in (self._skipped, self._unwatched) if each)])
        floor = max(listening - groups, 0.0) / fast if fast > steps / 2 else FAST_STEP_SECONDS
        floor += median(self._writes) if self._writes else 0.0
        return (self.limit or 0.0) * (1 - ALARM_SHARE) * step / self.untimed_factor - floor

    @property
    def untimed_factor(self) -> float:
        """Real over timed cost: as this run shows it, once there are enough steps of both kinds to compare."""
        if min(len(self._observed), len(self._skipped)) < RECENT_READS // 2:
            return UNTIMED_FACTOR
        untimed = median(self._unwatched) - median(self._skipped)
        return min(max(1 + untimed / max(median(self._observed), 1e-9), 1.0), MAX_UNTIMED)

    @property
    def usual_step(self) -> float | None:
        """Seconds that an observed step takes without ours; None before there was one."""
        return median(self._unwatched) if self._unwatched else None

    @property
    def reading_seconds(self) -> float:
        """What adding up takes when all of it is read at one step."""
        return sum(median(self._recent[group]) for group in NATIVE_GROUPS if group in self._recent)

    def _books(self) -> tuple[int, int, float, float, float, float]:
        listening = self.total - self.alarm_seconds - self.write_seconds
        return self._steps, self._fast_steps, self._groups, listening, self.total, self.training

    @property
    def share(self) -> float:
        """What watching has cost so far, as a part of the time the training itself took."""
        own = self.total * self.untimed_factor
        return own / (self.training - own) if self.training > own else 0.0

    def described(self) -> dict[str, object]:
        """For the record: what it cost and how often each group was read."""
        every = {group: self.intervals.every.get(group, 1) for group in sorted(self._recent)}
        floor = (self.total - self.alarm_seconds - self._groups) / max(self._steps, 1)
        return {
            "share": self.share,
            "budget": self.limit,
            "every": every,
            "microseconds": {group: 1e6 * median(self._recent[group]) for group in every},
            "floor_microseconds": 1e6 * floor,
            "full_steps": self.intervals.full_until,
        }


def affordable_intervals(costs: Mapping[str, float], left: float) -> dict[str, int]:
    """How often each group may be read, when reading costs that much and so much is left for all, per step.

    >>> affordable_intervals({"gradients": 2e-3, "updates": 4e-3}, left=1e-3)
    {'gradients': 5, 'updates': 10}
    >>> affordable_intervals({"gradients": 1e-5, "updates": 4e-3}, left=1e-3)
    {'gradients': 1, 'updates': 5}
    """
    if left <= 0:
        return dict.fromkeys(costs, LADDER[-1])
    others = [group for group in costs if group not in GROUP_SHARES]
    parts = {group: GROUP_SHARES.get(group, (1 - sum(GROUP_SHARES.values())) / max(len(others), 1)) for group in costs}
    every: dict[str, int] = {}
    while cheap := [g for g in parts if costs[g] <= left * parts[g] / sum(parts.values())]:
        for group in cheap:  # read at every step; what it leaves of its part is there for the others
            every[group] = 1
            left -= costs[group]
            del parts[group]
    whole = sum(parts.values())
    every |= {
        g: ladder_interval(costs[g] * whole / (part * left)) if left > 0 else LADDER[-1] for g, part in parts.items()
    }
    # Whatever is read needs a step that is observed, which costs as well.
    return {group: max(every[group], every.get(MOMENTS_GROUP, 1)) for group in costs}
