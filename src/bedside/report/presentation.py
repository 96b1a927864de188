"""How every report presents a Diagnosis: one story with its consequences, then what else there is.

Text, Markdown and HTML all read from here, so that they say the same thing in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bedside.finding import Diagnosis, Finding, Severity
from bedside.wording import FAMILIES, count, counted, percent, plural, printable, since, span, steps

NEAR_THE_END = 0.02  # of the run: the last evaluation is rarely on the last step
RUN_NAME_LENGTH = 60  # leaves room for the verdict on a line of 100


@dataclass(frozen=True)
class Chapter:
    """A finding, and those that followed from it."""

    finding: Finding
    consequences: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Story:
    """Chapters (the primary one first), then notes that belong to no chapter."""

    chapters: tuple[Chapter, ...]
    notes: tuple[Finding, ...]


def story(diagnosis: Diagnosis) -> Story:
    """Fold every consequence beneath the finding it follows from."""
    shown: set[int] = set()
    chapters: list[Chapter] = []
    notes: list[Finding] = []
    for index, finding in enumerate(diagnosis.findings):
        if index in shown:
            continue
        if finding.severity == Severity.NOTE:
            notes.append(finding)
            continue
        shown.add(index)
        follow = _followers(finding.code, diagnosis.findings, shown)
        shown |= set(follow)
        in_time = sorted(follow, key=lambda i: diagnosis.findings[i].first_step)
        chapters.append(Chapter(finding, tuple(diagnosis.findings[i] for i in in_time)))
    return Story(tuple(chapters), tuple(note for note in notes if not any(note in c.consequences for c in chapters)))


def _followers(code: str, findings: Sequence[Finding], shown: set[int]) -> list[int]:
    """Findings that follow from `code`, directly or by way of others."""
    reached: list[int] = []
    codes = {code}
    while True:
        seen = shown | set(reached)
        more = [i for i, each in enumerate(findings) if i not in seen and codes & set(each.causes)]
        if not more:
            return reached
        reached += more
        codes |= {findings[i].code for i in more}


def headline(diagnosis: Diagnosis) -> str:
    """The verdict in words: `sick: 1 error, 2 warnings`; previews are counted apart, for they never count."""
    stable = Counter(f.severity.word for f in diagnosis.findings if not f.preview)
    previews = len(diagnosis.findings) - stable.total()
    parts = [counted({word: stable[word] for word in ("error", "warning", "note")})]
    parts += [plural(previews, "preview finding")] if previews else []
    said = ", ".join(filter(None, parts))
    if diagnosis.verdict == "healthy" and previews:
        return f"healthy by the stable rules; {said}"
    return diagnosis.verdict + (f": {said}" if said else "")


def reason(diagnosis: Diagnosis) -> str:
    """Why the verdict is what it is, and what would settle it; nothing for a sick run, whose story says so."""
    if diagnosis.verdict == "sick":
        return ""
    settle = f" To settle it: {diagnosis.settled_by}" if diagnosis.settled_by else ""
    return diagnosis.reason + settle


def run_name(diagnosis: Diagnosis) -> str:
    """The run's name, its front cut off when it is a long path: the end tells runs apart."""
    name = printable(diagnosis.run)
    return name if len(name) <= RUN_NAME_LENGTH else "…" + name[-RUN_NAME_LENGTH + 1 :]


def how_long(diagnosis: Diagnosis) -> str:
    return steps(diagnosis.steps, diagnosis.axis)


def when(finding: Finding, diagnosis: Diagnosis) -> str:
    """`since step 150, still so at the end`, or the steps it lasted."""
    if finding.first_step == finding.last_step:
        return "at " + span(finding.first_step, finding.last_step, diagnosis.axis)
    if finding.last_step < (1 - NEAR_THE_END) * (diagnosis.steps - 1):
        return span(finding.first_step, finding.last_step, diagnosis.axis)
    return since(finding.first_step, diagnosis.axis) + ", still so at the end"


def around(finding: Finding, diagnosis: Diagnosis) -> str:
    """`around step 150: warm-up ended (lr 0.003), epoch 2 began`."""
    at = span(finding.first_step, finding.first_step, diagnosis.axis)
    return f"around {at}: {', '.join(map(printable, finding.around))}" if finding.around else ""


def how_sure(finding: Finding) -> str:
    return percent(finding.confidence) + " sure"


def label(finding: Finding) -> str:
    """`GRD101 vanishing-gradient`, and whether it is only a preview."""
    return f"{finding.code} {finding.name}" + (" (preview)" if finding.preview else "")


def brought_about_by(finding: Finding, diagnosis: Diagnosis) -> list[Finding]:
    """The findings named as its causes (one per code): for a chapter that is not the first of its chain."""
    by_code = {each.code: each for each in reversed(diagnosis.findings)}
    return [by_code[code] for code in finding.causes if code in by_code]


def examined(diagnosis: Diagnosis) -> str:
    """What was looked at, in one line: `34 rules: numerics 5, loss curve 12, …`."""
    families = Counter(FAMILIES.get(code[:3], code[:3]) for code in diagnosis.examined)
    each = ", ".join(f"{family} {count(how_many)}" for family, how_many in families.items())
    return plural(len(diagnosis.examined), "rule") + (f" ({each})" if each else "")


@dataclass(frozen=True)
class Unexamined:
    """Rules that could not be applied, all for lack of the same thing."""

    needs: str
    codes: tuple[str, ...]


def unexamined(diagnosis: Diagnosis) -> list[Unexamined]:
    """Grouped by what is missing; what most rules lack comes first."""
    groups: dict[str, list[str]] = {}
    for each in diagnosis.not_examined:
        groups.setdefault(" and ".join(each.needs), []).append(each.code)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [Unexamined(printable(needs), tuple(codes)) for needs, codes in ordered]


def shown_curves(diagnosis: Diagnosis, most: int = 6) -> list[str]:
    """Keys of the curves worth a look: the usual three, then what the primary finding points at."""
    usual = ["loss", "val/loss", "lr"]
    pointed = diagnosis.primary.series if diagnosis.primary else ()
    keys = [key for key in dict.fromkeys([*usual, *pointed]) if diagnosis.pictures.get(key)]
    return keys[:most] or list(diagnosis.pictures)[:1]


def few_curves(diagnosis: Diagnosis, most: int) -> list[str]:
    """The same for one screen: what the primary finding points at comes before the learning rate."""
    keys = shown_curves(diagnosis, most=99)
    return sorted(keys, key=lambda key: key == "lr")[:most]


def onset(diagnosis: Diagnosis) -> int | None:
    """The step to mark on the curves: where the primary finding begins."""
    return diagnosis.primary.first_step if diagnosis.primary else None
