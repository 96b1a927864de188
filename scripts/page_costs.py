"""The table of what the live page costs, beside TensorBoard and Trackio, from benchmarks/results/pages.csv."""

from __future__ import annotations

import csv
from pathlib import Path


def page_costs(table: Path) -> str:
    """A row a measurement, a column a tool; then what was measured under load, if it was."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    live = [row for row in rows if row["part"] == "live"]
    tools = list(dict.fromkeys(row["what"].partition(", ")[0] for row in live))
    whats = list(dict.fromkeys(row["what"].partition(", ")[2] for row in live))
    numbers = {row["what"]: _shown(row) for row in live}
    tools.sort(key=lambda tool: tool != "bedside")
    lines = [f"| {live[0]['of']} | {' | '.join(tools)} |", "|---|" + "---|" * len(tools)]
    lines += [f"| {what} | {' | '.join(numbers.get(f'{tool}, {what}', '') for tool in tools)} |" for what in whats]
    load = [row for row in rows if row["part"] == "load"]
    if load:
        lines += ["", f"| {load[0]['of']} | |", "|---|---|"]
        lines += [f"| {row['what']} | {_shown(row)} |" for row in load]
    return "\n".join(lines)


def _shown(row: dict[str, str]) -> str:
    value = float(row["number"])
    return f"{value:,.0f} {row['unit']}" if value >= 100 else f"{value:.3g} {row['unit']}"
