"""The catalogue over a Run: what is wrong, what caused what, and what could not be examined.

`story.py` links the findings and chooses the one to tell first, so that people get one story and not eleven alarms.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from bedside.analysis.skipped_trials import not_tried
from bedside.comparison.compare import compare_runs
from bedside.diagnosis.hypotheses import differential
from bedside.diagnosis.onset_context import with_onset_context
from bedside.diagnosis.prescription import one_prescription
from bedside.diagnosis.story import link_into_story
from bedside.diagnosis.verdict import verdict
from bedside.errors import pass_on_interrupts
from bedside.finding import Diagnosis, Finding, NotExamined, Severity
from bedside.record.run import Run
from bedside.rules import CATALOGUE, Rule


def examine(run: Run, catalogue: Sequence[Rule] = CATALOGUE, *, baseline: Run | None = None) -> Diagnosis:
    """Ask every rule, link the answers, and choose the one to tell first."""
    found, examined, not_examined = run_rules(run, catalogue)
    if baseline is not None:
        usual, _, _ = run_rules(baseline, [each for each in catalogue if each.code in {f.code for f in found}])
        found = [_normal_for_baseline(each, usual, baseline.name) for each in found]
    findings = as_story(run, found)
    asked = differential(run, findings)
    judged = verdict(run, findings, examined, asked)
    return Diagnosis(
        run=run.name,
        format=run.format,
        steps=run.steps,
        verdict=judged.word,
        reason=judged.reason,
        settled_by=judged.settled_by,
        findings=tuple(findings),
        not_examined=tuple(not_examined),
        examined=tuple(examined),
        notes=(*run.notes, *_stopped_listening(run), *_compiled(run)),
        pictures=_pictures(run, findings),
        axis=run.axis,
        differential=asked,
        baseline=None if baseline is None else compare_runs(run, baseline),
    )


def as_story(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """What the rules found as one story: what caused what, one prescription, and what else happened then."""
    return with_onset_context(run, one_prescription(link_into_story(found, run.steps)))


def run_rules(run: Run, catalogue: Sequence[Rule]) -> tuple[list[Finding], list[str], list[NotExamined]]:
    """What the rules found, the codes of those that looked, and those that could not."""
    found: list[Finding] = []
    not_examined: list[NotExamined] = []
    examined: list[str] = []
    if len(catalogue) > 1:  # most rules read several of them
        run.fetch_scalars()
    for each in catalogue:
        answer = _answer(each, run)
        if isinstance(answer, NotExamined):
            not_examined.append(answer)
        else:
            examined.append(each.code)
            found += answer
    return found, examined, not_examined


def _normal_for_baseline(finding: Finding, usual: Sequence[Finding], name: str) -> Finding:
    """A note of what would be an alarm, if the good run shows the same, as bad and in the same place."""
    for other in usual:
        here = not finding.where or not other.where or set(finding.where) & set(other.where)
        if other.code == finding.code and other.severity >= finding.severity > Severity.NOTE and here:
            message = f"{finding.message} That is normal for this family: {name} shows it as well."
            return finding.with_(severity=Severity.NOTE, message=message)
    return finding


def _answer(each: Rule, run: Run) -> list[Finding] | NotExamined:
    """One rule's answer. A rule that breaks on a run must not take the others' answers with it."""
    try:
        return each.examine(run)
    except Exception as broken:
        pass_on_interrupts(broken)
        if os.environ.get("BEDSIDE_DEBUG"):
            raise
        return NotExamined(each.code, each.name, (f"a repaired rule: {type(broken).__name__}: {broken}",), broken=True)


def _stopped_listening(run: Run) -> list[str]:
    """What the monitor could not watch to the end, in the reader's words."""
    return [
        f"bedside stopped listening at step {event.step} ({error}); please report it."
        if (error := event.data.get("error"))
        else f"bedside was interrupted at step {event.step}; what followed was not watched."
        for event in run.events_of("switched_off")
        if event.data.get("all")
    ]


def _compiled(run: Run) -> list[str]:
    notes = [
        f"The steps of {event.data.get('optimizer')} are compiled, so they were not followed."
        for event in run.events_of("steps_compiled")
    ]
    if why := not_tried(run, "compiled model"):
        notes.append(f"What the layers of the compiled model put out was not read: that needs {why}.")
    return notes


PICTURE_POINTS = 400
METRICS_WITHOUT_A_LOSS = 2  # curves to show of a log that has evaluations only


def _pictures(run: Run, findings: Sequence[Finding]) -> dict[str, list[tuple[int, float]]]:
    """The curves a report may draw: the loss, the validation loss, and what the findings point at; thinned."""
    known = {f"{vital}/{owner}" if owner else vital: (vital, owner) for vital, owner in run.series_keys}
    wanted = ["loss", "val/loss", "lr", "grad_norm"] + [key for f in findings for key in f.series]
    if "loss" not in known and "val/loss" not in known:
        wanted += [key for key in known if key.startswith("val/")][:METRICS_WITHOUT_A_LOSS]
    pictures: dict[str, list[tuple[int, float]]] = {}
    for key in dict.fromkeys(wanted):
        if key in known and (series := run.series(*known[key])):
            thin = series.thinned(PICTURE_POINTS)
            pictures[key] = list(zip(thin.steps.tolist(), thin.values.tolist(), strict=True))
    return pictures
