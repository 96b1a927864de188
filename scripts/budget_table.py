"""The table of what the budget comes to from the first step on, from benchmarks/results/budget.csv."""

from __future__ import annotations

import csv
from pathlib import Path

AIMS = {
    "start": lambda step: 5.0,
    "later": lambda step: 1.0 if step > 1.5 else 3.0,
}  # per cent, for a step of so many ms
NETS = {"mlp": "MLP", "deep": "deep net", "transformer": "transformer"}
PHASES = {"start": "the first 500 steps together", "later": "500 steps after the first 1,500"}


def budget_table(table: Path) -> str:
    """A row for each net and phase that was measured."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = {(row["workload"], row["phase"]): row for row in csv.DictReader(file)}
    lines = ["| | | aim | found | range | own account | rounds | |", "|---|---|---|---|---|---|---|---|"]
    for phase, what in PHASES.items():
        for net, name in NETS.items():
            if (row := rows.get((net, phase))) is not None:
                lines.append(_line(row, what, name, AIMS[phase](float(row["step_ms"]))))
    return "\n".join(lines)


def _line(row: dict[str, str], what: str, name: str, aim: float) -> str:
    verdict = "holds" if float(row["percent"]) <= aim else "missed"
    own = f"{row['own_percent']} %" if row["own_percent"] else "–"
    found = f"{row['percent']} % | {row['low']} to {row['high']} % | {own} | {row['rounds']}"
    return f"| {what} | {name}, {float(row['step_ms']):.3g} ms | {aim:g} % | {found} | {verdict} |"
