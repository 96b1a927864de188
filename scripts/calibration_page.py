"""docs/calibration.md from benchmarks/results/calibration.csv: how often a claim of 80 % is right."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

RESULTS = "benchmarks/results/calibration.csv"
Figures = Sequence[dict[str, str]]
ABOUT = """# How far to trust the percentages

A claim of 80 % should be right about 80 % of the time. `python benchmarks/calibration.py --write` diagnoses every
recorded run of the zoo, drawn healthy runs and, with `--programs`, the kept records of healthy and faulty programs
(here of all of them, those held out as well), and compares each percentage with the truth: a hypothesis is right when
it is the cause that the specimen was made with (of a healthy run, only the harmless explanation is), a finding when it
is one that the specimen or program expects or follows from one; on a healthy run no finding is. The Brier score is the
mean squared distance between claim and truth: 0 is perfect, and always answering "one half" scores 0.25.
"""


def calibration_page(results: Path) -> str:
    with results.open(newline="", encoding="utf-8") as file:
        figures = list(csv.DictReader(file))
    parts = [ABOUT, _reliability("Hypotheses", figures), _reliability("Findings", figures), _verdicts(figures)]
    found = next(each["count"] for each in figures if each["part"] == "contradictions")
    parts.append(
        "## Reports that contradict themselves\n\nVerdict, findings, hypotheses and advice are one judgement; of these "
        f"reports {found} contradicted themselves.\n"
    )
    return "\n".join(parts)


def _reliability(title: str, figures: Figures) -> str:
    own = [each for each in figures if each["part"] == title.lower()]
    score = next(each for each in own if each["name"] == "Brier score")
    rows = [
        f"| {each['name']} | {each['count']} | {float(each['said']):.0%} | {float(each['right']):.0%} |"
        for each in own
        if each is not score
    ]
    head = f"## {title}\n\n{score['count']} claims, Brier score {float(score['said']):.3f}.\n"
    return "\n".join([head, "| claim | times | mean claim | right |", "|---|---|---|---|", *rows, ""])


def _verdicts(figures: Figures) -> str:
    rows = []
    for part in dict.fromkeys(each["part"] for each in figures if each["part"].startswith("verdicts: ")):
        counts = {each["name"]: each["count"] for each in figures if each["part"] == part}
        rows.append(
            f"| {part.removeprefix('verdicts: ')} | {counts['sick']} | {counts['unclear']} | {counts['healthy']} |"
        )
    return "\n".join(["## Verdicts\n", "| runs | sick | unclear | healthy |", "|---|---|---|---|", *rows, ""])
