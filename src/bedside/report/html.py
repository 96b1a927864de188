"""A Diagnosis as an HTML fragment, for notebooks: what a cell shows when its value is a diagnosis.

Styles inline, curves as SVG, no script and no request to anywhere. Text takes the page's own colour, so that it reads
on light and dark alike; everything that comes from a log is escaped. `standalone.py` writes the whole report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from bedside.finding import Diagnosis, Differential, Finding, Hypothesis
from bedside.report import presentation
from bedside.report.comparison import summary
from bedside.report.hypotheses import harmless
from bedside.report.plots.svg import curve_svg
from bedside.report.presentation import Chapter
from bedside.wording import capital, listed, percent, plural, printable, value, words

BADGES = {
    "error": "#c62a2f",
    "sick": "#c62a2f",
    "warning": "#ad5700",
    "unclear": "#ad5700",
    "healthy": "#18794e",
    "note": "#3e63dd",
}  # dark enough for white letters

STYLE = """
.bedside{font:14px/1.5 system-ui,sans-serif;max-width:760px}
.bedside h2{font-size:1.15em;margin:.2em 0 .6em}.bedside h3{font-size:1em;margin:1.2em 0 .3em}
.bedside p{margin:.3em 0}.bedside ol,.bedside ul{margin:.2em 0 .6em;padding-left:1.6em}
.bedside .badge{color:#fff;border-radius:4px;padding:.1em .5em;font-size:.85em;font-weight:600;margin-right:.5em}
.bedside .quiet{opacity:.75}.bedside dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;margin:.5em 0}
.bedside dt{opacity:.75}.bedside dd{margin:0}.bedside summary{cursor:pointer;opacity:.75}
.bedside .chapter{border-left:3px solid;padding-left:.9em;margin:1em 0}
.bedside code{background:rgba(128,128,128,.18);border-radius:3px;padding:0 .25em}
.bedside pre{white-space:pre-wrap;font-size:.9em}
"""


def diagnosis_to_html(diagnosis: Diagnosis, pages: Mapping[str, str] | None = None) -> str:
    """A fragment that can stand in any page; `pages` are the texts of rules by code, to be folded in."""
    whole = presentation.story(diagnosis)
    parts = [f"<style>{STYLE}</style>", '<div class="bedside">', _verdict(diagnosis), *_curves(diagnosis)]
    for place, chapter in enumerate(whole.chapters):
        parts += _chapter(chapter, diagnosis, full=place == 0, pages=pages or {})
        if place == 0:
            parts += map(_question, diagnosis.differential)
    if not whole.chapters:
        parts += map(_question, diagnosis.differential)
    parts += [f"<p>{_badge('note')}{_label(note)}: {_prose(note.message)}</p>" for note in whole.notes]
    if diagnosis.baseline is not None:
        said = f"Beside {diagnosis.baseline.b}: {summary(diagnosis.baseline)}"
        parts.append(f"<p>{_prose(said)}</p>")
    if diagnosis.notes:
        parts.append("<h3>About this log</h3>" + _bullets(map(capital, diagnosis.notes)))
    if diagnosis.examined and not diagnosis.findings:
        parts.append(f'<p class="quiet">Examined: {escape(presentation.examined(diagnosis))}; nothing found.</p>')
    if groups := presentation.unexamined(diagnosis):
        rows = _bullets([f"{group.needs}: {listed(group.codes, most=12)}" for group in groups])
        title = f"Not examined: {plural(len(diagnosis.not_examined), 'rule')}, which would need"
        parts.append(f"<details><summary>{title}</summary>{rows}</details>")
    return "".join([*parts, "</div>"])


def _verdict(diagnosis: Diagnosis) -> str:
    said = presentation.headline(diagnosis).removeprefix(diagnosis.verdict).lstrip(":; ")
    reason = f"<p>{_prose(presentation.reason(diagnosis))}</p>" if presentation.reason(diagnosis) else ""
    return (
        f"<h2>{_badge(diagnosis.verdict)}{escape(presentation.run_name(diagnosis))}</h2>"
        f'<p class="quiet">{escape(presentation.how_long(diagnosis))}{" · " + escape(said) if said else ""}</p>{reason}'
    )


def _curves(diagnosis: Diagnosis) -> Iterator[str]:
    curves = {key: diagnosis.pictures[key] for key in presentation.shown_curves(diagnosis)}
    first = min((points[0][0] for points in curves.values()), default=0)
    last = max(diagnosis.steps - 1, first)
    for key, points in curves.items():
        yield curve_svg(printable(key), points, first=first, last=last, onset=presentation.onset(diagnosis))


def _chapter(chapter: Chapter, diagnosis: Diagnosis, *, full: bool, pages: Mapping[str, str]) -> Iterator[str]:
    finding = chapter.finding
    yield f'<div class="chapter" style="border-color:{BADGES[finding.severity.word]}">'
    yield f"<h3>{_badge(finding.severity.word)}{_label(finding)}</h3><p>{_prose(finding.message)}</p>"
    facts = {
        "where": listed(map(printable, finding.where)),
        "when": presentation.when(finding, diagnosis),
        "meanwhile": presentation.around(finding, diagnosis),
        "how sure": presentation.how_sure(finding).removesuffix(" sure"),
        "because of": listed(presentation.label(each) for each in presentation.brought_about_by(finding, diagnosis)),
    }
    if full:
        facts["numbers"] = " · ".join(f"{words(key)} {value(each)}" for key, each in finding.evidence.items())
    yield "<dl>" + "".join(f"<dt>{key}</dt><dd>{escape(said)}</dd>" for key, said in facts.items() if said) + "</dl>"
    if finding.try_ and full:
        advice = "".join(f"<li>{_prose(capital(each))}</li>" for each in finding.try_)
        yield f"<p>What to try, most likely first:</p><ol>{advice}</ol>"
    elif finding.try_:
        yield f"<p>Try: {_prose(finding.try_[0])}</p>"
    if full and finding.could_also_be:
        yield "<p>What else it could be, and how to tell:</p>" + _bullets(map(capital, finding.could_also_be))
    if chapter.consequences:
        rows = [
            f"{presentation.label(each)}, {presentation.when(each, diagnosis)}: {each.message}"
            for each in chapter.consequences
        ]
        yield "<p>Which led to:</p>" + _bullets(rows)
    if page := pages.get(finding.code):
        yield f"<details><summary>About {escape(finding.code)}</summary><pre>{escape(page)}</pre></details>"
    yield "</div>"


def _question(asked: Differential) -> str:
    """The answers as a list, folded when the heaviest is that all is well."""
    answers = "".join(map(_answer, asked.hypotheses))
    test = ""
    if asked.test is not None:
        outcomes = _bullets([f"If {each.seen}: {each.means}." for each in asked.test.outcomes])
        test = f"<p>To decide: <b>{asked.test.name}</b> ({asked.test.cost}). {_prose(asked.test.do)}</p>{outcomes}"
    first = f"{capital(asked.heaviest.title)}: {percent(asked.heaviest.weight)}"
    opened = "" if harmless(asked) else " open"
    return (
        f'<div class="chapter" style="border-color:{BADGES["note"]}"><p>{_prose(asked.question)}</p>'
        f"<details{opened}><summary>{escape(first)}</summary><ul>{answers}</ul>{test}</details></div>"
    )


def _answer(each: Hypothesis) -> str:
    signs = [f"+ {_prose(sign)}" for sign in each.speaks_for] + [f"− {_prose(sign)}" for sign in each.speaks_against]
    return f"<li><b>{percent(each.weight)}</b> {escape(each.title)}<br>{'<br>'.join(signs)}</li>"


def _badge(word: str) -> str:
    return f'<span class="badge" style="background:{BADGES[word]}">{word}</span>'


def _label(finding: Finding) -> str:
    return escape(presentation.label(finding))


def _bullets(rows: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_prose(row)}</li>" for row in rows) + "</ul>"


def _prose(text: str) -> str:
    """Escaped, with `names` in code type."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(printable(text)))
