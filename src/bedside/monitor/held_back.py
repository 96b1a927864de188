"""An alarm waits until its evidence has lasted twice as long, and is withdrawn in words when it no longer holds. Early
in a run a few steps are a large share of it: ten clipped steps out of twelve say nothing about the whole. So a finding
is held back until the fault has lasted twice as long as when it was first seen, and is then still found. If the onset
has meanwhile moved on by half of that length, it is new evidence, and the wait starts again. What no later step can
repair, such as a NaN, is reported at once. Findings about the share of all steps wait for the end of the run.

>>> from bedside.finding import Severity
>>> found = Finding("GRD105", "dominant-module", Severity.WARNING, "It is so.", 0.9, 0, 20)
>>> waiting = HeldBack()
>>> [len(waiting.news([found], step).begun) for step in (20, 30, 40, 50)]
[0, 0, 1, 0]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bedside.finding import Finding, Severity

SHARES = frozenset({"GRD103"})  # what happens at most steps of a run, of which the first are not a sample
MOMENTS = frozenset({"LOS107"})  # what was over at once, and is measured by the progress of the run so far
MOVED = 0.5  # of what was first seen: an onset that moves on with the run was never that of a fault
AT_ONCE = frozenset({"NUM101", "NUM102", "NUM103", "NUM106", "DAT101"})  # NaN does not go away


@dataclass(frozen=True)
class News:
    """Alarms that lasted, and reported alarms that no longer hold."""

    begun: tuple[Finding, ...]
    overturned: tuple[Finding, ...]


@dataclass(frozen=True)
class _Evidence:
    """Since when a fault was there, and the step at which it was seen first."""

    onset: int
    seen: int

    @property
    def due(self) -> int:
        """The step at which the evidence will have doubled."""
        return self.seen + max(1, self.seen - self.onset)

    def moved_to(self, onset: int) -> bool:
        return onset - self.onset > MOVED * max(1, self.seen - self.onset)


class HeldBack:
    """Findings that wait and findings that were reported, by rule: another place with the same fault is not news."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Evidence] = {}
        self._reported: dict[str, Finding] = {}

    def news(self, found: Iterable[Finding], step: int, *, final: bool = False) -> News:
        """What to report after the rules ran at `step`; the `final` time nothing is held back."""
        alarms = [each for each in found if each.severity >= Severity.WARNING and not each.preview]
        worst: dict[str, Finding] = {}
        for each in alarms:
            if each.code not in worst or each.severity > worst[each.code].severity:
                worst[each.code] = each
        overturned = tuple(each for code, each in self._reported.items() if code not in worst)
        self._reported = {code: each for code, each in self._reported.items() if code in worst}
        self._waiting = {code: each for code, each in self._waiting.items() if code in worst}  # the others are gone
        begun = []
        for code, each in worst.items():
            if code in self._reported and self._reported[code].severity >= each.severity:
                continue
            seen = self._waiting.get(code)
            if seen is None or seen.moved_to(each.first_step):
                seen = self._waiting[code] = _Evidence(each.first_step, step)
            if code in SHARES and not final:
                continue
            due = max(seen.due, 2 * seen.onset) if code in MOMENTS else seen.due
            if final or code in AT_ONCE or code in self._reported or step >= due:
                self._reported[code] = each
                begun.append(each)
        return News(tuple(begun), overturned)
