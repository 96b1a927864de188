"""The catalogue over a Run: what is wrong, what caused what, and what could not be examined.

Findings are linked by the table in `links.py`; the one that explains the others is primary, and the rest are
folded beneath it, so that people get one story and not eleven alarms.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from types import ModuleType
from typing import Any

from bedside.finding import Diagnosis, Finding, NotExamined, Severity
from bedside.links import LINKS, Link
from bedside.record.run import Run
from bedside.rules import CATALOGUE, Rule, find_rule

LOSS_READINGS_FOR_A_VERDICT = 20  # fewer say nothing about a trend: the blocks of rules/statistics.py need them
EVALUATIONS_FOR_A_VERDICT = 5  # an evaluation is an average over a whole set, so fewer of them carry a trend
ONSET_SLACK = 0.02  # of the run: two rules date the same event with windows of their own


def diagnose(
    path_or_run: str | PathLike[str] | Run,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Diagnosis:
    """Diagnose a run: a Run, a run folder of bedside's own, or a log that another tool wrote."""
    if isinstance(path_or_run, Run):
        run = path_or_run
    else:
        from bedside.logs import load

        run = load(path_or_run)
    return examine(run, chosen(select=select, ignore=ignore))


def chosen(*, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The catalogue less what was not asked for; families ("GRD") count as all their codes."""
    return tuple(
        each for each in CATALOGUE if (not select or _names(each, select)) and not (ignore and _names(each, ignore))
    )


def _names(each: Rule, words: Iterable[str]) -> bool:
    for word in words:
        family = word.strip().upper()
        if any(other.code[:3] == family for other in CATALOGUE):
            if each.code.startswith(family):
                return True
        elif find_rule(word) is each:
            return True
    return False


def examine(run: Run, catalogue: Sequence[Rule] = CATALOGUE) -> Diagnosis:
    """Ask every rule, link the answers, and choose the one to tell first."""
    found: list[Finding] = []
    not_examined: list[NotExamined] = []
    examined: list[str] = []
    for each in catalogue:
        answer = _asked(each, run)
        if isinstance(answer, NotExamined):
            not_examined.append(answer)
        else:
            examined.append(each.code)
            found += answer
    findings = told_as_one_story(found, run.steps)
    return Diagnosis(
        run=run.name,
        format=run.format,
        steps=run.steps,
        verdict=_verdict(run, findings, examined),
        findings=tuple(findings),
        not_examined=tuple(not_examined),
        examined=tuple(examined),
        notes=run.notes,
        pictures=_pictures(run, findings),
        axis=run.axis,
    )


def _asked(each: Rule, run: Run) -> list[Finding] | NotExamined:
    """One rule's answer. A rule that breaks on a run must not take the others' answers with it."""
    try:
        return each.examine(run)
    except Exception as broken:
        if os.environ.get("BEDSIDE_DEBUG"):
            raise
        return NotExamined(each.code, each.name, (f"a repaired rule: {type(broken).__name__}: {broken}",))


def _verdict(run: Run, findings: Sequence[Finding], examined: Sequence[str]) -> str:
    if any(f.severity >= Severity.WARNING and not f.preview for f in findings):
        return "sick"
    if not examined:  # nobody could look: that is not health
        return "unclear"
    enough = len(run.loss) >= LOSS_READINGS_FOR_A_VERDICT or any(
        len(series) >= EVALUATIONS_FOR_A_VERDICT for series in run.matching("val/")
    )
    return "healthy" if enough else "unclear"


def told_as_one_story(found: Sequence[Finding], steps: int, links: Sequence[Link] = LINKS) -> list[Finding]:
    """Link causes to effects, mark the primary one, and put it first; consequences follow in order of onset."""
    slack = ONSET_SLACK * steps
    causes: dict[int, set[int]] = {index: set() for index in range(len(found))}
    pairs = {(link.cause, link.effect) for link in links}
    # A cause may be linked both ways (NaN loss and NaN gradient): the earlier one wins, then catalogue order.
    for c, cause in enumerate(found):
        for e, effect in enumerate(found):
            if c == e or (cause.name, effect.name) not in pairs or cause.severity == Severity.NOTE:
                continue
            both_ways = (effect.name, cause.name) in pairs
            if both_ways and (effect.first_step, e) < (cause.first_step, c):
                continue
            if cause.first_step <= effect.first_step + (0 if both_ways else slack):
                causes[e].add(c)
    linked = [
        finding.with_(causes=tuple(sorted({found[c].code for c in causes[i]}))) for i, finding in enumerate(found)
    ]
    order = sorted(range(len(found)), key=lambda i: _importance(i, linked, causes))
    if order and linked[order[0]].severity > Severity.NOTE:
        linked[order[0]] = linked[order[0]].with_(primary=True)
    return [linked[i] for i in order]


def _importance(index: int, found: Sequence[Finding], causes: dict[int, set[int]]) -> tuple[object, ...]:
    finding = found[index]
    return (
        finding.preview,
        finding.severity == Severity.NOTE,
        bool(causes[index]),  # a consequence comes after what it follows from
        -int(finding.severity),
        -len(_effects(index, causes)),
        finding.first_step,
        -finding.confidence,
    )


def _effects(index: int, causes: dict[int, set[int]]) -> set[int]:
    """Everything that follows from this finding, directly or by way of others."""
    reached: set[int] = set()
    frontier = {index}
    while frontier:
        frontier = {e for e, because in causes.items() if because & frontier} - reached - {index}
        reached |= frontier
    return reached


PICTURE_POINTS = 400
METRICS_WITHOUT_A_LOSS = 2  # curves to show of a log that has evaluations only


def _pictures(run: Run, findings: Sequence[Finding]) -> dict[str, list[tuple[int, float]]]:
    """The curves a report may draw: the loss, the validation loss, and what the findings point at; thinned."""
    known = {f"{vital}/{owner}" if owner else vital: (vital, owner) for vital, owner in run.keys}
    wanted = ["loss", "val/loss", "lr", "grad_norm"] + [key for f in findings for key in f.series]
    if "loss" not in known and "val/loss" not in known:
        wanted += [key for key in known if key.startswith("val/")][:METRICS_WITHOUT_A_LOSS]
    pictures: dict[str, list[tuple[int, float]]] = {}
    for key in dict.fromkeys(wanted):
        if key in known and (series := run.series(*known[key])):
            thin = series.thinned(PICTURE_POINTS)
            pictures[key] = list(zip(thin.steps.tolist(), thin.values.tolist(), strict=True))
    return pictures


class _CallableModule(ModuleType):
    """`bedside.diagnose` is both this module and the public function: importing a submodule puts the module
    under its name, so the module answers to a call as well."""

    def __call__(self, *args: Any, **kwargs: Any) -> Diagnosis:
        return diagnose(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
