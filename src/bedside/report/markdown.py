"""A Diagnosis as Markdown, for pull-request comments and job summaries: the story open, the rest folded away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bedside.finding import Diagnosis, Differential, Finding
from bedside.report import comparison as beside
from bedside.report import presentation
from bedside.report.presentation import Chapter
from bedside.wording import capital, listed, percent, plural, printable, printable_lines, value, words


def diagnosis_to_markdown(diagnosis: Diagnosis) -> str:
    whole = presentation.story(diagnosis)
    name = escaped(presentation.run_name(diagnosis))
    parts = [
        f"### {name}: {diagnosis.verdict}",
        f"{presentation.how_long(diagnosis)}. {_sentence(presentation.headline(diagnosis))}",
    ]
    parts += [escaped(presentation.reason(diagnosis))] if presentation.reason(diagnosis) else []
    for place, chapter in enumerate(whole.chapters):
        parts += list(_chapter(chapter, diagnosis, full=place == 0))
    parts += map(_question, diagnosis.differential)
    if whole.notes:
        parts.append("\n".join(f"- *note* {_label(note)}: {escaped(note.message)}" for note in whole.notes))
    if diagnosis.baseline is not None:
        parts.append(f"Beside {escaped(diagnosis.baseline.b)}: {escaped(beside.summary(diagnosis.baseline))}")
    if diagnosis.notes:
        parts.append("**About this log**\n\n" + _bullets(diagnosis.notes))
    if not diagnosis.findings and diagnosis.examined:
        parts.append(f"Examined: {presentation.examined(diagnosis)}; nothing found.")
    if groups := presentation.unexamined(diagnosis):
        rows = "\n".join(f"- {escaped(group.needs)}: {listed(group.codes, most=8)}" for group in groups)
        summary = f"Not examined: {plural(len(diagnosis.not_examined), 'rule')}, which would need"
        parts.append(f"<details><summary>{summary}</summary>\n\n{rows}\n\n</details>")
    return printable_lines("\n\n".join(parts)) + "\n"


def _chapter(chapter: Chapter, diagnosis: Diagnosis, *, full: bool) -> Iterator[str]:
    finding = chapter.finding
    yield f"**{finding.severity.word}** {_label(finding)}: {escaped(finding.message)}"
    facts = [presentation.when(finding, diagnosis), presentation.how_sure(finding)]
    if finding.where:
        facts.insert(0, "in " + listed(f"`{printable(place)}`" for place in finding.where))
    yield _sentence("; ".join(facts))
    if finding.around:
        yield _sentence(escaped(presentation.around(finding, diagnosis)))
    if full and finding.evidence:
        head = " | ".join(escaped(words(key)) for key in finding.evidence)
        row = " | ".join(escaped(value(each)) for each in finding.evidence.values())
        yield f"| {head} |\n|{'---|' * len(finding.evidence)}\n| {row} |"
    if finding.try_:
        tries = finding.try_ if full else finding.try_[:1]
        listing = "\n".join(f"{place}. {escaped(capital(each))}" for place, each in enumerate(tries, 1))
        yield "What to try, most likely first:\n\n" + listing if full else f"Try: {escaped(tries[0])}"
    if full and finding.could_also_be:
        yield "What else it could be, and how to tell:\n\n" + _bullets(finding.could_also_be)
    if chapter.consequences:
        yield "Which led to:\n\n" + "\n".join(
            f"- {_label(each)}, {presentation.when(each, diagnosis)}: {escaped(each.message)}"
            for each in chapter.consequences
        )


def _question(asked: Differential) -> str:
    cells = [
        (percent(each.weight), escaped(each.title), _signs(each.speaks_for), _signs(each.speaks_against))
        for each in asked.hypotheses
    ]
    rows = [f"| {' | '.join(row)} |" for row in (("weight", "cause", "for", "against"), ("---",) * 4, *cells)]
    table = "\n".join(rows)
    test = f"\n\nTo decide: {asked.test.name} ({asked.test.cost}). {escaped(asked.test.do)}" if asked.test else ""
    summary = f"{capital(asked.heaviest.title)}: {percent(asked.heaviest.weight)}"
    return f"{escaped(asked.question)}\n\n<details><summary>{summary}</summary>\n\n{table}{test}\n\n</details>"


def _signs(signs: Sequence[str]) -> str:
    return "; ".join(map(escaped, signs))


def _bullets(rows: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(capital(row))}" for row in rows)


def _label(finding: Finding) -> str:
    return f"`{finding.code}` {presentation.label(finding).removeprefix(finding.code + ' ')}"


def _sentence(text: str) -> str:
    return capital(text).rstrip(".") + "."


def escaped(text: str) -> str:
    """The text with everything that Markdown and HTML would interpret escaped; `code` keeps its backticks."""
    pieces = re.split(r"(`[^`\n]*`)", printable(text))
    return "".join(
        piece.replace("|", "\\|") if index % 2 else re.sub(r"([\\`*_\[\]<>#|@~])", r"\\\1", piece)
        for index, piece in enumerate(pieces)
    )
