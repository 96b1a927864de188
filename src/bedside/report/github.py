"""A Diagnosis as workflow commands: one annotation per story, so that a failing job says why on its first screen.

A consequence appears in its cause's annotation and gets none of its own; a preview is never more than a notice.
"""

from __future__ import annotations

from collections.abc import Iterator

from bedside.finding import Diagnosis, Finding, Severity
from bedside.report import presentation
from bedside.report.presentation import Chapter
from bedside.wording import printable, printable_lines

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def diagnosis_to_github(diagnosis: Diagnosis) -> str:
    whole = presentation.story(diagnosis)
    name = presentation.run_name(diagnosis)
    lines = [_command(chapter, diagnosis) for chapter in whole.chapters]
    lines += [_command(Chapter(note), diagnosis) for note in whole.notes]
    missed = len(diagnosis.not_examined)
    every = missed + len(diagnosis.examined)
    summary = f"{presentation.how_long(diagnosis)} · {presentation.headline(diagnosis)}"
    lines.append(f"bedside: {name} · {summary} · {missed} of {every} not examined")
    if said := presentation.reason(diagnosis):
        lines.append(f"bedside: {printable(said)}")
    return printable_lines("\n".join(lines)) + "\n"


def _command(chapter: Chapter, diagnosis: Diagnosis) -> str:
    finding = chapter.finding
    worst = max(_loudness(each) for each in (finding, *chapter.consequences))
    title = f"{presentation.label(finding)}, {presentation.when(finding, diagnosis)}"
    body = "\n".join(_body(chapter, diagnosis))
    return f"::{COMMANDS[worst]} title={_property(title)}::{_data(body)}"


def _loudness(finding: Finding) -> Severity:
    return Severity.NOTE if finding.preview else finding.severity


def _body(chapter: Chapter, diagnosis: Diagnosis) -> Iterator[str]:
    yield f"{presentation.run_name(diagnosis)}: {chapter.finding.message}"
    for advice in chapter.finding.try_[:1]:
        yield f"Try: {advice}"
    for each in chapter.consequences:
        yield f"Which led to {presentation.label(each)}: {each.message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
