"""How right preflight is, as a table made from benchmarks/results/preflight.csv."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

SOURCES = {
    "zoo": "the zoo: specimens and their healthy twins",
    "healthy": "ordinary healthy programs",
    "in_sight": "programs by independent authors that check writers may read",
    "held_out": "programs by independent authors that they may not",
}
Row = dict[str, str]


def preflight_numbers(path: Path) -> str:
    """One line per collection: false alarms on healthy programs, faults caught, and what was left out."""
    with path.open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    lines = [_line(title, [row for row in rows if row["source"] == source]) for source, title in SOURCES.items()]
    head = "| programs | healthy ones that fail a check | faults caught | not adapted |\n|---|---|---|---|"
    return "\n".join([head, *lines])


def _line(title: str, rows: Sequence[Row]) -> str:
    adapted = [row for row in rows if row["adapted"] == "1"]
    well = [row for row in adapted if row["sick"] == "0"]
    visible = [row for row in adapted if row["visible"] == "1"]
    alarmed = sum(bool(row["failed"]) for row in well)
    caught = sum(row["caught"] == "1" for row in visible)
    faults = f"{caught} of {len(visible)}" if visible else "–"
    return f"| {title} | {alarmed} of {len(well)} | {faults} | {len(rows) - len(adapted)} of {len(rows)} |"
