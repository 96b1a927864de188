"""How good the diagnosis is: score any folder of labelled runs.

    python benchmarks/diagnosis.py CORPUS... [--details] [--csv benchmarks/results/corpus.csv]

A corpus is a folder with a `labels.json`: id → `path` of the log, `expect` (groups of rule names; empty means healthy),
`confidence` of the label. A sick run is caught when one expected name is among its errors and warnings, caught as
primary when its primary finding is an expected one, and a healthy run is alarmed by any error or warning. Previews
never count. The scores are given over all labels and over those of at least medium confidence, since the others are
for discussion. The CSV holds figures only, nothing of the logs.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bedside.diagnosis.engine import examine
from bedside.errors import BedsideError
from bedside.finding import Diagnosis, Severity
from bedside.logs import load

COLUMNS = ("id", "format", "confidence", "expected", "found", "primary", "caught", "caught_as_primary", "alarmed")


@dataclass
class Score:
    """One labelled run beside its diagnosis."""

    id: str
    format: str
    confidence: str
    expected: list[str]
    found: list[str] = field(default_factory=list)  # names among errors and warnings, primary first
    primary: str = ""
    diagnosis: Diagnosis | None = None
    error: str = ""
    seconds: float = 0.0

    @property
    def sick(self) -> bool:
        return bool(self.expected)

    @property
    def caught(self) -> bool:
        return bool(set(self.expected) & set(self.found))

    @property
    def caught_as_primary(self) -> bool:
        return self.primary in self.expected

    @property
    def alarmed(self) -> bool:
        return not self.sick and bool(self.found)

    def row(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "format": self.format,
            "confidence": self.confidence,
            "expected": " ".join(self.expected),
            "found": " ".join(self.found),
            "primary": self.primary,
            "caught": int(self.caught) if self.sick else "",
            "caught_as_primary": int(self.caught_as_primary) if self.sick else "",
            "alarmed": int(self.alarmed) if not self.sick else "",
        }


def score(corpus: Path, only: Sequence[str] = ()) -> list[Score]:
    """Diagnose every run of a corpus."""
    labels = json.loads((corpus / "labels.json").read_text())
    scores = []
    for name, label in labels.items():
        if only and not any(word in name for word in only):
            continue
        expected = list(dict.fromkeys(rule for group in label["expect"] for rule in group))
        one = Score(name, label.get("format", ""), label.get("confidence", "high"), expected)
        began = time.perf_counter()
        try:
            one.diagnosis = examine(load(corpus / label["path"]))
            counted = one.diagnosis.at_least(Severity.WARNING)
            one.found = list(dict.fromkeys(finding.name for finding in counted))
            one.primary = next((finding.name for finding in counted if finding.primary), "")
        except BedsideError as problem:
            one.error = problem.what
        one.seconds = time.perf_counter() - began
        scores.append(one)
    return scores


def summary(scores: Iterable[Score]) -> str:
    every = list(scores)
    sick, healthy = [one for one in every if one.sick], [one for one in every if not one.sick]
    unread = [one.id for one in every if one.error]
    broken = {each.name for one in every if one.diagnosis for each in one.diagnosis.not_examined if each.broken}
    return "\n".join(
        [
            f"{'':20}{'all labels':24}without low confidence",
            f"sick caught         {_of(sick, lambda one: one.caught)}",
            f"sick as primary     {_of(sick, lambda one: one.caught_as_primary)}",
            f"healthy alarmed     {_of(healthy, lambda one: one.alarmed)}",
            *([f"could not be read   {len(unread)}: {', '.join(unread)}"] if unread else []),
            *([f"rules that broke    {len(broken)}: {', '.join(sorted(broken))}"] if broken else []),
        ]
    )


def per_rule(scores: Iterable[Score]) -> str:
    """For each rule: how often it was expected, caught, and raised on a healthy run."""
    expected, caught, false = Counter[str](), Counter[str](), Counter[str]()
    for one in scores:
        expected.update(one.expected)
        caught.update(set(one.expected) & set(one.found))
        false.update(one.found if not one.sick else [])
    names = sorted(set(expected) | set(false))
    return "\n".join(
        [f"{'rule':28}{'expected':>9}{'caught':>8}{'false':>7}"]
        + [f"{name:28}{expected[name]:9}{caught[name]:8}{false[name]:7}" for name in names]
    )


def per_source(scores: Iterable[Score]) -> str:
    groups: dict[str, list[Score]] = {}
    for one in scores:
        groups.setdefault(one.format, []).append(one)
    lines = [f"{'source':40}{'sick':>6}{'caught':>8}{'healthy':>9}{'alarmed':>9}"]
    for source, ones in sorted(groups.items()):
        sick = sum(one.sick for one in ones)
        caught, alarmed = sum(one.caught for one in ones), sum(one.alarmed for one in ones)
        lines.append(f"{source:40}{sick:6}{caught:8}{len(ones) - sick:9}{alarmed:9}")
    return "\n".join(lines)


def details(one: Score) -> str:
    mark = "ok" if (one.caught_as_primary if one.sick else not one.alarmed) else "OK?" if one.caught else "MISS"
    mark = "FALSE" if one.alarmed else mark
    wanted = f"expected {', '.join(one.expected)}" if one.sick else "healthy"
    lines = [f"{mark:6}{one.id} ({wanted}; label {one.confidence}; {one.seconds:.1f} s)"]
    if one.error:
        lines.append(f"        {one.error}")
    for finding in one.diagnosis.findings if one.diagnosis else ():
        star = "*" if finding.primary else "?" if finding.preview else " "
        lines.append(
            f"      {star} {finding.severity.word:8}{finding.confidence:.2f}  @{finding.first_step}  {finding}"
        )
    return "\n".join(lines)


def _of(scores: Sequence[Score], test: Callable[[Score], bool]) -> str:
    def share(ones: Sequence[Score]) -> str:
        hits = sum(map(test, ones))
        return f"{hits} of {len(ones)}" + (f" ({100 * hits / len(ones):.1f} %)" if ones else "")

    return f"{share(scores):24}{share([one for one in scores if one.confidence != 'low'])}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--details", action="store_true", help="show every run with its findings")
    parser.add_argument("--only", action="append", default=[], help="only runs whose id contains this")
    parser.add_argument("--csv", type=Path, help="write figures here, one line per run")
    options = parser.parse_args(arguments)
    scores = [one for corpus in options.corpus for one in score(corpus, options.only)]
    if options.details:
        print("\n".join(details(one) for one in scores), end="\n\n")
    print(summary(scores), per_rule(scores), per_source(scores), sep="\n\n")
    if options.csv:
        options.csv.parent.mkdir(parents=True, exist_ok=True)
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(one.row() for one in scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
