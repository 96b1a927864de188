"""One prescription: no finding may advise what an earlier one forbids, nor another number for the same thing.

Findings come in the order of the report, the primary one first. The first piece of advice that turns a knob
(the learning rate, the clipping threshold, weight decay) settles its direction for the whole report. Later advice that
would turn it the other way is left out, and so is the explanation that would need it; advice that turns it the same way
takes over the number that was settled. What follows from another finding is cured with that: it may not turn a knob
that its cause leaves alone, which would treat the symptom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from bedside.finding import Advice, Finding, Severity


def one_prescription(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without advice that contradicts what stands before it; alarms settle a direction before notes."""
    settled: dict[str, Advice] = {}
    codes = {each.code for each in findings}
    kept: dict[int, Finding] = {}
    for index in sorted(range(len(findings)), key=lambda i: _speaks_later(findings[i])):
        finding = findings[index]
        agreeing = tuple(_agreeing(finding.try_, settled))
        if codes & set(finding.causes):
            agreeing = tuple(each for each in agreeing if not _turns(each) or each.knob in settled)
        kept[index] = finding.with_(try_=agreeing)
        for each in agreeing:
            if isinstance(each, Advice) and each.turn:
                settled.setdefault(each.knob, each)
    return [
        kept[index].with_(could_also_be=tuple(_agreeing(each.could_also_be, settled)))
        for index, each in enumerate(findings)
    ]


def _speaks_later(finding: Finding) -> bool:
    """Notes and previews never overrule an alarm."""
    return finding.preview or finding.severity == Severity.NOTE


def _agreeing(advice: Iterable[str], settled: dict[str, Advice]) -> Iterator[str]:
    """Advice that turns no knob against the direction it has, with the number that was settled."""
    turned: dict[str, int] = {}  # within one finding the first mention decides as well
    for each in advice:
        if not isinstance(each, Advice) or not each.turn:
            yield each
            continue
        first = settled.get(each.knob)
        if turned.setdefault(each.knob, first.turn if first else each.turn) != each.turn:
            continue
        yield first if first is not None and _opening(first) == _opening(each) else each


def _turns(advice: str) -> TypeGuard[Advice]:
    return isinstance(advice, Advice) and bool(advice.turn)


def _opening(advice: str) -> str:
    """`Lower the learning rate` of `Lower the learning rate from 0.1 to about 0.01.`"""
    return advice.split(" from ")[0]
