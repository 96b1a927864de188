"""docs/zoo.md and the README's short version, made from the specimens' pages and the committed score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from bedside.zoo.grading import Row
from bedside.zoo.score import read
from bedside.zoo.specimen import Specimen
from bedside.zoo.specimens import ZOO
from bedside.zoo.summary import TARGETS, lines, shares

TOLD = {
    "caught": "sick runs caught: an expected finding is an error or a warning",
    "primary": "the expected finding is told first",
    "exact": "and nothing unexplained is said beside it",
    "in time": "first alarm within a tenth of the run after the fault begins, of those caught",
    "false alarms": "healthy runs with any error or warning at the end",
    "passing alarms": "healthy runs with one that had gone again by the end",
}


def zoo_in_short(table: Path) -> str:
    """The numbers, the targets, and every specimen that was missed."""
    rows = read(table)
    seeds = ", ".join(str(seed) for seed in sorted({row.seed for row in rows}))
    healthy, sick = (sum(row.sick is wanted for row in rows) for wanted in (False, True))
    missed = [each for each in lines(rows) if _short_of(each.caught)]
    told = ", ".join(f"{each.specimen} ({each.caught})" for each in missed)
    return "\n".join(
        [
            f"{sick} sick and {healthy} healthy trainings on seeds that no rule was tuned on ({seeds}):\n",
            *_numbers(rows),
            f"\nNot caught every time: {told}." if missed else "\nEvery one was caught every time.",
        ]
    )


def zoo_page(table: Path) -> str:
    """Every specimen with its page and its score."""
    return "\n".join(_page(read(table))) + "\n"


def _page(rows: Sequence[Row]) -> Iterator[str]:
    yield "# The zoo\n"
    yield (
        "Small real trainings that fail on purpose, each beside a healthy twin that differs in one line, and healthy\n"
        "runs that look sick. Watch one with `bedside zoo run NAME`, its twin with `--healthy`; `bedside zoo score`\n"
        "makes the numbers below again, from nothing in about half an hour on two cores."
    )
    yield "\n## The score\n"
    yield from _numbers(rows)
    yield "\nEvery run is a line of `benchmarks/zoo.csv`. *Delay*: median steps from the fault to an alarm.\n"
    yield "| specimen | model | caught | primary | delay | healthy runs alarmed | said instead, or falsely |"
    yield "|---|---|---|---|---|---|---|"
    scored = {each.specimen: each for each in lines(rows)}
    for each in ZOO:
        if line := scored.get(each.name):
            told = f"{line.caught} | {line.primary} | {line.delay} | {line.false_alarms} | {line.instead}"
            yield f"| [{each.name}](#{each.name}) | {each.kind} | {told} |"
    for each in ZOO:
        yield from _specimen(each)


def _numbers(rows: Sequence[Row]) -> Iterator[str]:
    yield "| | | target |\n|---|---|---|"
    for name, share in shares(rows).items():
        if name in TOLD:
            target = f"{100 * TARGETS[name]:.0f} %" if name in TARGETS else ""
            yield f"| {TOLD[name]} | {share} | {target} |"


def _specimen(each: Specimen) -> Iterator[str]:
    yield f"\n## {each.name}\n"
    yield re.sub(r"^## (.*)\n", r"**\1.** ", each.page, flags=re.MULTILINE)
    if each.sick:
        groups = "; ".join(", ".join(group) for group in each.expects)
        severities = ", ".join(f"{name} ({dose})" for name, dose in each.doses.items() if dose is not None)
        yield f"\nThe line: `{each.the_line}`" + (f" · {severities}" if severities else "") + f" · expected: {groups}"


def _short_of(caught: str) -> bool:
    part, _, whole = caught.partition("/")
    return part != whole
