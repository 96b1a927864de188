"""A Diagnosis and its Run as one JSON object: what the report has inside it and what the live page is sent.

Everything that is a sentence is made here, from the same story as the text and the Markdown report; the front end
(`web/`) lays it out and draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bedside import __version__
from bedside.finding import Diagnosis, Differential, Finding
from bedside.record.run import Run
from bedside.report import presentation
from bedside.report.comparison import summary
from bedside.report.facts import facts
from bedside.report.finding_charts import evidence_panels, onset_mark
from bedside.report.hypotheses import harmless
from bedside.report.instruments import instruments
from bedside.report.instruments.drawn_points import CurveTable
from bedside.report.instruments.panel import SECTIONS, Panel
from bedside.report.lab_results import experiments
from bedside.report.presentation import Chapter
from bedside.wording import capital, listed, percent, plural, printable, value, words


def page_data(run: Run, diagnosis: Diagnosis, rule_pages: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The whole page with its readings, for a report that stands alone."""
    curves = CurveTable()
    data = story_data(run, diagnosis, rule_pages)
    panels = [panel for each in instruments(run) if (panel := each.read(run)) is not None]
    for shown in [*evidence_panels(run, diagnosis), *panels]:
        put_curves(shown, curves)
    return data | {"panels": [marked(panel, diagnosis).to_json() for panel in panels], "curves": curves.to_json()}


def put_curves(panel: Panel, curves: CurveTable) -> None:
    for series in panel.series:
        curves.add(series, panel.extra.get("points"), band=panel.kind == "lines")  # a map shows means


def story_data(run: Run, diagnosis: Diagnosis, rule_pages: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Verdict, story, what could not be examined, and how the run was made; no readings."""
    whole = presentation.story(diagnosis)
    evidence = {panel.id.removeprefix("evidence:"): panel.to_json() for panel in evidence_panels(run, diagnosis)}
    return {
        "bedside": __version__,
        "run": presentation.run_name(diagnosis),
        "axis": diagnosis.axis,
        "steps": diagnosis.steps,
        "finished": run.finished,
        "verdict": diagnosis.verdict,
        "headline": headline(diagnosis),
        "reason": printable(presentation.reason(diagnosis)),
        "length": presentation.how_long(diagnosis),
        "chapters": [_chapter(each, diagnosis, evidence) for each in whole.chapters],
        "questions": [_question(each) for each in diagnosis.differential],
        "notes": [{"label": presentation.label(each), "message": printable(each.message)} for each in whole.notes],
        "baseline": _baseline(diagnosis),
        "about": [printable(capital(each)) for each in diagnosis.notes],
        "examined": f"Examined: {presentation.examined(diagnosis)}." if diagnosis.examined else "",
        "not_examined": _not_examined(diagnosis),
        "rule_pages": dict(rule_pages or {}),
        "experiments": experiments(run),
        "facts": facts(run),
        "sections": SECTIONS,
    }


def headline(diagnosis: Diagnosis) -> str:
    """What follows the verdict: `1 error, 2 warnings`, or why nothing can be said."""
    return printable(presentation.headline(diagnosis).removeprefix(diagnosis.verdict).lstrip(":; "))


def marked(panel: Panel, diagnosis: Diagnosis) -> Panel:
    """The panel with the onset of the primary finding on it; its name appears once, on the loss."""
    primary = diagnosis.primary
    if primary is None or panel.kind != "lines":
        return panel
    mark = onset_mark(primary)
    return replace(panel, marks=[mark if panel.id == "loss" else replace(mark, label="")])


def finding_data(finding: Finding, diagnosis: Diagnosis) -> dict[str, Any]:
    """One finding in words."""
    rows = {
        "where": listed(map(printable, finding.where)),
        "when": presentation.when(finding, diagnosis),
        "meanwhile": presentation.around(finding, diagnosis),
        "how sure": presentation.how_sure(finding).removesuffix(" sure"),
        "because of": listed(presentation.label(each) for each in presentation.brought_about_by(finding, diagnosis)),
    }
    return {
        "code": finding.code,
        "label": presentation.label(finding),
        "severity": finding.severity.word,
        "message": printable(finding.message),
        "facts": [[name, said] for name, said in rows.items() if said],
        "numbers": [[words(name), value(each)] for name, each in finding.evidence.items()],
        "try": [printable(capital(each)) for each in finding.try_],
        "could_also_be": [printable(capital(each)) for each in finding.could_also_be],
        "first_step": finding.first_step,
        "last_step": finding.last_step,
    }


def _chapter(chapter: Chapter, diagnosis: Diagnosis, evidence: Mapping[str, Any]) -> dict[str, Any]:
    def charts(finding: Finding) -> list[Any]:
        place = str(diagnosis.findings.index(finding))
        return [panel for name, panel in evidence.items() if name.partition(":")[0] == place]

    led_to = [
        {
            "code": each.code,
            "label": presentation.label(each),
            "severity": each.severity.word,
            "when": presentation.when(each, diagnosis),
            "message": printable(each.message),
            "evidence": charts(each),
        }
        for each in chapter.consequences
    ]
    return finding_data(chapter.finding, diagnosis) | {"evidence": charts(chapter.finding), "led_to": led_to}


def _question(asked: Differential) -> dict[str, Any]:
    test = asked.test
    return {
        "question": printable(asked.question),
        "summary": f"{capital(asked.heaviest.title)}: {percent(asked.heaviest.weight)}",
        "harmless": harmless(asked),
        "answers": [
            {
                "weight": percent(each.weight),
                "title": printable(capital(each.title)),
                "for": [printable(sign) for sign in each.speaks_for],
                "against": [printable(sign) for sign in each.speaks_against],
            }
            for each in asked.hypotheses
        ],
        "experiment": None
        if test is None
        else {
            "title": f"To decide: {test.name} ({test.cost})",
            "do": printable(test.do),
            "outcomes": [f"If {each.seen}: {each.means}." for each in test.outcomes],
        },
    }


def _baseline(diagnosis: Diagnosis) -> str:
    if diagnosis.baseline is None:
        return ""
    return printable(f"Beside {diagnosis.baseline.b}: {summary(diagnosis.baseline)}")


def _not_examined(diagnosis: Diagnosis) -> dict[str, Any]:
    groups: Iterable[presentation.Unexamined] = presentation.unexamined(diagnosis)
    return {
        "title": f"Not examined: {plural(len(diagnosis.not_examined), 'rule')}, which would need",
        "groups": [f"{group.needs}: {listed(group.codes, most=12)}" for group in groups],
    }
