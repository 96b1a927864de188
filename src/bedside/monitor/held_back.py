"""An alarm waits until its evidence has lasted twice as long, and is taken back in words when it no longer holds.

In the first steps of a run everything is a large share of it: ten clipped steps of twelve say nothing of the run.
So what is found is held back until as many steps have gone by again as the fault had lasted when it was first seen, and
is then still found. Where the onset has meanwhile moved on by half of what had been seen, it is other evidence, and the
wait begins anew. What no later step can make good, a NaN, is said at once. A share of all steps
is known when the run is over, and waits for its end.

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
MOVED = 0.5  # of what was first seen: an onset that moves on with the run was never that of a fault
AT_ONCE = frozenset({"NUM101", "NUM102", "NUM103", "NUM106", "DAT101"})  # what is NaN stays NaN


@dataclass(frozen=True)
class News:
    """Alarms that lasted, and alarms that were said and no longer hold."""

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
    """What was found and waits, and what was said, by rule: another place of the same fault is not news."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Evidence] = {}
        self._reported: dict[str, Finding] = {}

    def news(self, found: Iterable[Finding], step: int, *, final: bool = False) -> News:
        """What to say after a look at `step`; at the `final` one nothing waits."""
        alarms = [each for each in found if each.severity >= Severity.WARNING and not each.preview]
        worst: dict[str, Finding] = {}
        for each in alarms:
            if each.code not in worst or each.severity > worst[each.code].severity:
                worst[each.code] = each
        overturned = tuple(each for code, each in self._reported.items() if code not in worst)
        self._reported = {code: each for code, each in self._reported.items() if code in worst}
        self._waiting = {code: each for code, each in self._waiting.items() if code in worst}  # gone before it was said
        begun = []
        for code, each in worst.items():
            if code in self._reported and self._reported[code].severity >= each.severity:
                continue
            seen = self._waiting.get(code)
            if seen is None or seen.moved_to(each.first_step):
                seen = self._waiting[code] = _Evidence(each.first_step, step)
            if code in SHARES and not final:
                continue
            if final or code in AT_ONCE or code in self._reported or step >= seen.due:
                self._reported[code] = each
                begun.append(each)
        return News(tuple(begun), overturned)
