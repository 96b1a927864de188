"""One story out of many findings: which brought about which, and which one to tell first.

The table in `causal_links.py` says what can cause what. Two findings are joined by it when the cause did not begin
after its effect, give or take the slack with which rules date things. The finding that explains most of what is wrong
is primary; its consequences are folded beneath it by the reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bedside.diagnosis.causal_links import LINKS, Link
from bedside.finding import Finding, Severity

SLACK = 0.02  # of the run: two rules date the same event with windows of their own
# Of the run: what is so "from the start" has no onset of its own, and a cause this early had time enough; and what
# comes on by degrees has effects that much before it is complete.
EARLY = 0.1

Causes = Mapping[int, set[int]]  # of each finding, by its place in the list


def link_into_story(found: Sequence[Finding], steps: int, links: Sequence[Link] = LINKS) -> list[Finding]:
    """Link causes to effects, mark the primary finding, and order the rest by how much it matters."""
    causes = linked(found, steps, links)
    named = [each.with_(causes=tuple(sorted({found[c].code for c in causes[i]}))) for i, each in enumerate(found)]
    order = sorted(range(len(found)), key=lambda i: (*_rank(i, found, causes), found[i].first_step))
    first = _primary(order, found, causes, SLACK * steps)
    if first is not None:
        order.remove(first)
        order.insert(0, first)
        named[first] = named[first].with_(primary=True)
    return [named[i] for i in order]


def linked(found: Sequence[Finding], steps: int, links: Sequence[Link] = LINKS) -> dict[int, set[int]]:
    """The causes of every finding. No finding is, by way of others, its own cause."""
    table = {(link.cause, link.effect): link for link in links}
    possible = [
        (c, e)
        for c, cause in enumerate(found)
        for e, effect in enumerate(found)
        if (link := table.get((cause.name, effect.name))) and _may_cause(cause, effect, steps, gradual=link.gradual)
    ]
    # Where the table leads in a circle (NaN makes NaN both ways), the clearer order in time wins, then the catalogue's.
    possible.sort(key=lambda pair: (found[pair[0]].first_step - found[pair[1]].first_step, pair))
    causes: dict[int, set[int]] = {i: set() for i in range(len(found))}
    for c, e in possible:
        if c not in effects_of(e, causes):
            causes[e].add(c)
    return causes


def _may_cause(cause: Finding, effect: Finding, steps: int, *, gradual: bool) -> bool:
    """A note is worth knowing and explains nothing, and a preview may not explain an alarm away."""
    if cause.severity == Severity.NOTE or (cause.preview and not effect.preview):
        return False
    slack = (EARLY if gradual or effect.first_step <= SLACK * steps else SLACK) * steps
    return cause.first_step <= effect.first_step + slack


def effects_of(index: int, causes: Causes) -> set[int]:
    """Everything that follows from this finding, directly or by way of others."""
    reached: set[int] = set()
    frontier = {index}
    while frontier:
        frontier = {e for e, because in causes.items() if because & frontier} - reached - {index}
        reached |= frontier
    return reached


def _rank(index: int, found: Sequence[Finding], causes: Causes) -> tuple[int, ...]:
    """Small is important: alarms before notes before previews, causes before effects, the worst first."""
    finding = found[index]
    follow = [found[e] for e in effects_of(index, causes) if not found[e].preview]
    worst = max([finding.severity, *(each.severity for each in follow)])
    alarms = sum(each.severity > Severity.NOTE for each in follow)
    return (finding.preview, finding.severity == Severity.NOTE, bool(causes[index]), -worst, -alarms)


def _primary(order: Sequence[int], found: Sequence[Finding], causes: Causes, slack: float) -> int | None:
    """The first in rank; of several equals, the surest among those that began first."""
    alarms = [i for i in order if found[i].severity > Severity.NOTE and not found[i].preview]
    if not alarms:
        return None
    best = _rank(alarms[0], found, causes)
    equals = [i for i in alarms if _rank(i, found, causes) == best]
    earliest = min(found[i].first_step for i in equals)
    together = [i for i in equals if found[i].first_step <= earliest + slack]
    return max(together, key=lambda i: (found[i].confidence, -i))
