"""A Diagnosis as text: on one screen the verdict, why, one story and what to try; the rest when it is asked for.

Never wider than 100 columns. `diagnosis_lines` keeps the roles of the parts for a terminal's colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.finding import Diagnosis, Finding
from bedside.report import presentation
from bedside.report.comparison import summary
from bedside.report.hypotheses import hypothesis_lines
from bedside.report.presentation import Chapter
from bedside.report.sparkline import column, sparkline
from bedside.report.styled_lines import WIDTH, Line, line, plain, wrapped
from bedside.wording import capital, listed, number, percent, plural, printable, since, span, value, words

CONSEQUENCES, NEEDS = 8, 5  # lines of each at most; the rest is counted
CURVES, TRIES, OTHERS, REMARKS = 3, 3, 3, 3  # of each on one screen; the rest is counted, and shown with -v
LABEL = 11  # columns of "how sure", "numbers" and their like


def diagnosis_to_text(diagnosis: Diagnosis, width: int = WIDTH, *, verbose: bool = False) -> str:
    return plain(diagnosis_lines(diagnosis, width, verbose=verbose))


def diagnosis_lines(diagnosis: Diagnosis, width: int = WIDTH, *, verbose: bool = False) -> list[Line]:
    """The report, line by line, with the role of each part: one screen, or everything with `verbose`."""
    return _joined(_everything(diagnosis, width) if verbose else _one_screen(diagnosis, width))


def _joined(blocks: Sequence[list[Line]]) -> list[Line]:
    """The blocks with an empty line between them."""
    lines: list[Line] = []
    for block in filter(None, blocks):
        lines += [line(), *block] if lines else block
    return lines


def _one_screen(diagnosis: Diagnosis, width: int) -> list[list[Line]]:
    whole = presentation.story(diagnosis)
    others = [chapter.finding for chapter in whole.chapters[1:]]
    return [
        list(_verdict(diagnosis, width)),
        list(_curves(diagnosis, width, presentation.few_curves(diagnosis, CURVES))),
        list(_primary_in_brief(whole.chapters[0], diagnosis, width)) if whole.chapters else [],
        _in_brief(others, "finding", width),
        [*_in_brief(whole.notes, "note", width), *_about(diagnosis, width, REMARKS)],
        list(_baseline(diagnosis, width)),
        list(_more(diagnosis, width)),
    ]


def _everything(diagnosis: Diagnosis, width: int) -> list[list[Line]]:
    whole = presentation.story(diagnosis)
    blocks = [list(_verdict(diagnosis, width)), list(_curves(diagnosis, width, presentation.shown_curves(diagnosis)))]
    if whole.chapters:
        blocks.append(list(_primary(whole.chapters[0], diagnosis, width)))
    blocks += [list(hypothesis_lines(asked, width)) for asked in diagnosis.differential]
    blocks += [list(_other(chapter, diagnosis, width)) for chapter in whole.chapters[1:]]
    blocks.append([each for note in whole.notes for each in _note(note, width)])
    blocks.append(list(_baseline(diagnosis, width)))
    blocks.append(_about(diagnosis, width))
    blocks.append(list(_coverage(diagnosis, width, found=bool(diagnosis.findings))))
    return blocks


def _verdict(diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """The verdict and why; of a sick run the primary finding is the reason, and follows in full."""
    yield from wrapped(
        (presentation.run_name(diagnosis), "strong"),
        f" · {presentation.how_long(diagnosis)} · ",
        (presentation.headline(diagnosis), diagnosis.verdict),
        rest="  ",
        width=width,
    )
    if diagnosis.reason and diagnosis.verdict != "sick":
        yield from wrapped(printable(diagnosis.reason), first="  ", width=width)
    if diagnosis.settled_by:
        yield from wrapped(
            ("To settle it: ", "quiet"), printable(diagnosis.settled_by), first="  ", rest="    ", width=width
        )


def _curves(diagnosis: Diagnosis, width: int, keys: Sequence[str]) -> Iterator[Line]:
    """The curves on one common axis of steps, with the primary finding's onset marked beneath."""
    rows = []
    across = max(16, 48 * width // WIDTH)  # about half a line is left for names and numbers
    curves = {key: diagnosis.pictures[key] for key in keys}
    first = min((points[0][0] for points in curves.values()), default=0)
    last = max(diagnosis.steps - 1, first)
    for key, points in curves.items():
        name, begins, ends = printable(key), number(points[0][1]), number(points[-1][1])
        if all(value == points[0][1] for _, value in points) and len(points) > 1:
            rows.append((name, begins, "─" * across, "constant"))
        else:
            curve = sparkline(points, across, name=key, first=first, last=last)
            rows.append((name, begins, curve.drawn, ends + (" (log)" if curve.log else "")))
    if not rows:
        return
    names = min(max(len(name) for name, *_ in rows), max(8, width - across - 30))
    begins_width = max(len(begins) for _, begins, *_ in rows)
    for name, begins, drawn, ends in rows:
        short = name if len(name) <= names else "…" + name[-names + 1 :]
        yield line((f"  {short:<{names}}  ", "quiet"), f"{begins:>{begins_width}} ", (drawn, "curve"), f" {ends}")
    marked = presentation.onset(diagnosis)
    if marked is not None and diagnosis.primary is not None:
        at = 2 + names + 2 + begins_width + 1 + column(marked, across, first, last)
        said = f"{diagnosis.primary.code} begins, {span(marked, marked, diagnosis.axis)}"
        text = f"▲ {said}" if at + 2 + len(said) <= width else f"{said} ▲"
        yield line((" " * (at if text[0] == "▲" else at + 1 - len(text)) + text, diagnosis.primary.severity.word))


def _primary_in_brief(chapter: Chapter, diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """The finding that explains the others: what, where, since when, how sure, what to try, what it led to."""
    finding = chapter.finding
    yield from _title(finding, width)
    yield from wrapped((printable(finding.message), "strong"), first="  ", width=width)
    yield from _when_and_where(finding, diagnosis, width)
    if chapter.consequences:
        labels = listed((presentation.label(each) for each in chapter.consequences), most=4)
        yield from wrapped((f"Which led to {labels}.", "quiet"), first="  ", width=width)
    if finding.try_:
        yield line("  What to try, most likely first:")
    for place, each in enumerate(finding.try_[:TRIES], 1):
        yield from wrapped(capital(printable(each)), first=f"    {place}. ", width=width)


def _when_and_where(finding: Finding, diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """One line for when, where and how sure, and one for what else happened there."""
    place = f", in {listed(map(printable, finding.where), most=3)}" if finding.where else ""
    yield from wrapped(
        (f"{capital(presentation.when(finding, diagnosis))}{place}; {presentation.how_sure(finding)}.", "quiet"),
        first="  ",
        width=width,
    )
    if finding.around:
        yield from wrapped((capital(presentation.around(finding, diagnosis)) + ".", "quiet"), first="  ", width=width)


def _in_brief(findings: Sequence[Finding], called: str, width: int) -> list[Line]:
    """One line each, and how many more there are."""
    lines = []
    for each in findings[:OTHERS]:
        said = f"{presentation.label(each)}: {printable(each.message)}"
        lines.append(line((f"{each.severity.word:<7}", each.severity.word), "  " + shortened(said, width - 9)))
    if (more := len(findings) - OTHERS) > 0:
        lines.append(line((f"… and {plural(more, f'more {called}')}", "quiet")))
    return lines


def _more(diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """What was looked at, and where to read on."""
    every = len(diagnosis.examined) + len(diagnosis.not_examined)
    looked = f"{len(diagnosis.examined)} of {plural(every, 'rule')} examined" if every else ""
    first = next(iter(diagnosis.findings), None)
    explain = f"bedside explain {first.code}" if first else ""
    verbose = "-v for numbers, hypotheses, not examined" if every else ""
    said = " · ".join(filter(None, (looked, explain, verbose)))
    if said:
        yield from wrapped((said, "quiet"), width=width)


def _primary(chapter: Chapter, diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """The finding that explains the others, in full."""
    finding = chapter.finding
    yield from _title(finding, width)
    yield from wrapped((printable(finding.message), "strong"), first="  ", width=width)
    yield line()
    if finding.where:
        yield from _row("where", listed(map(printable, finding.where)), width)
    yield from _row("when", presentation.when(finding, diagnosis), width)
    if finding.around:
        yield from _row("meanwhile", presentation.around(finding, diagnosis), width)
    yield from _row("how sure", percent(finding.confidence), width)
    if causes := presentation.brought_about_by(finding, diagnosis):
        yield from _row("because of", listed(presentation.label(each) for each in causes), width)
    if finding.evidence:
        numbers = " · ".join(f"{words(key)} {value(each)}" for key, each in finding.evidence.items())
        yield from _row("numbers", numbers, width)
    if finding.try_:
        yield line()
        yield line("  What to try, most likely first:")
        for place, each in enumerate(finding.try_, 1):
            yield from wrapped(capital(printable(each)), first=f"    {place}. ", width=width)
    if finding.could_also_be:
        yield line()
        yield line("  What else it could be, and how to tell:")
        for each in finding.could_also_be:
            yield from wrapped(capital(printable(each)), first="    - ", width=width)
    yield from _led_to(chapter, diagnosis, width)
    yield line()
    yield line((f"  More: bedside explain {finding.code}", "quiet"))


def _other(chapter: Chapter, diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    """Another finding in brief: what, where, since when, and the first thing to try."""
    finding = chapter.finding
    yield from _title(finding, width)
    yield from wrapped(printable(finding.message), first="  ", width=width)
    yield from _when_and_where(finding, diagnosis, width)
    if finding.try_:
        yield from wrapped("Try: " + printable(finding.try_[0]), first="  ", rest="       ", width=width)
    yield from _led_to(chapter, diagnosis, width, gap=False)


def _led_to(chapter: Chapter, diagnosis: Diagnosis, width: int, *, gap: bool = True) -> Iterator[Line]:
    if not chapter.consequences:
        return
    if gap:
        yield line()
    yield line("  Which led to:")
    for each in chapter.consequences[:CONSEQUENCES]:
        said = f"{presentation.label(each)}, {since(each.first_step, diagnosis.axis)}: {printable(each.message)}"
        yield line("    → " + shortened(said, width - 6))
    if (more := len(chapter.consequences) - CONSEQUENCES) > 0:
        yield line((f"    … and {plural(more, 'more finding')}", "quiet"))


def _note(finding: Finding, width: int) -> Iterator[Line]:
    yield from wrapped(
        ("note", "note"), f"  {presentation.label(finding)}: {printable(finding.message)}", rest="      ", width=width
    )


def _baseline(diagnosis: Diagnosis, width: int) -> Iterator[Line]:
    if diagnosis.baseline is not None:
        said = f"Beside {printable(diagnosis.baseline.b)}: "
        yield from wrapped((said, "strong"), summary(diagnosis.baseline), rest="  ", width=width)


def _about(diagnosis: Diagnosis, width: int, most: int | None = None) -> list[Line]:
    """What a reader had to assume or repair; in full, or the first `most` in one line each."""
    lines = [line(("About this log:", "quiet"))] if diagnosis.notes else []
    for note in diagnosis.notes[:most]:
        said = capital(printable(note))
        lines += wrapped((said if most is None else shortened(said, width - 4), "quiet"), first="  - ", width=width)
    if most is not None and (more := len(diagnosis.notes) - most) > 0:
        lines.append(line((f"  … and {plural(more, 'more remark')}", "quiet")))
    return lines


def _coverage(diagnosis: Diagnosis, width: int, *, found: bool) -> Iterator[Line]:
    """What was looked at when nothing was found, and always what could not be."""
    if diagnosis.examined and not found:
        yield from wrapped(
            (f"Examined: {presentation.examined(diagnosis)}; nothing found.", "quiet"), rest="  ", width=width
        )
    groups = presentation.unexamined(diagnosis)
    if not groups:
        return
    looked = len(diagnosis.examined)
    every = looked + len(diagnosis.not_examined)
    yield line((f"Not examined: {len(diagnosis.not_examined)} of {plural(every, 'rule')}, which would need", "quiet"))
    for group in groups[:NEEDS]:
        yield from wrapped((f"{group.needs}: {listed(group.codes, most=8)}", "quiet"), first="  - ", width=width)
    if rest := groups[NEEDS:]:
        codes = sum(len(group.codes) for group in rest)
        needs = listed((group.needs for group in rest), most=4)
        yield from wrapped((f"for {plural(codes, 'more rule')}: {needs}", "quiet"), first="  - ", width=width)


def _title(finding: Finding, width: int) -> Iterator[Line]:
    severity = finding.severity.word
    yield from wrapped((severity.upper(), severity), f"  {presentation.label(finding)}", width=width)


def _row(name: str, said: str, width: int) -> Iterator[Line]:
    yield from wrapped((f"{name:<{LABEL}}", "quiet"), said, first="  ", rest=" " * (2 + LABEL), width=width)


def shortened(text: str, width: int) -> str:
    """One line of it, with an ellipsis where it was cut."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"
