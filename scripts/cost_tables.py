"""README's tables of what watching costs, from benchmarks/results/overhead.csv and limits.csv."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from cost_goals import NETS, Row, goals_table

CHAIN = "chain-"


def costs(table: Path, limits: Path) -> str:
    """Per cent of the unwatched step, every way of watching a line; then growth, and what has no unit of time."""
    rows = _read(table)
    if not rows:
        return "No table yet: `make benchmarks` measures it on your machine."
    fused = [row for row in rows if row["optimizer"] == "fused"]
    parts = [_nets(fused, _cell), _default(rows), _nets([r for r in fused if r["inside"]], _inside), _growth(rows)]
    found = _read(limits)
    return "\n\n".join(part for part in [*parts, _limits(found), goals_table(rows, found)] if part)


def _nets(rows: Sequence[Row], cell: Callable[[Sequence[Row], str, str], str]) -> str:
    nets = [net for net in NETS if any(row["workload"] == net for row in rows)]
    base = {net: next(row["base_ms"] for row in rows if row["workload"] == net and row["base_ms"]) for net in nets}
    first = "inside the watcher " if cell is _inside else ""
    head = f"| {first}| " + " | ".join(f"{NETS[net]}, {_milliseconds(float(base[net]))} ms" for net in nets) + " |"
    watchers = dict.fromkeys(row["watcher"] for row in rows if row["workload"] in nets)
    lines = [head, "|---|" + "---|" * len(nets)]
    for watcher in watchers:
        cells = [cell(rows, net, watcher) for net in nets]
        lines.append(f"| {_name(watcher)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(rows: Sequence[Row], net: str, watcher: str) -> str:
    found = [row for row in rows if row["workload"] == net and row["watcher"] == watcher]
    if not found:
        return "–"
    if not found[0]["percent"]:
        return "does not run"
    percent, low, high = (float(found[0][key]) for key in ("percent", "low", "high"))
    return f"{_number(percent)} % ({_number(low)} to {_number(high)})"


def _inside(rows: Sequence[Row], net: str, watcher: str) -> str:
    """Of the unwatched step, the part that is spent inside the watcher, usually."""
    found = [row for row in rows if row["workload"] == net and row["watcher"] == watcher]
    return f"{float(found[0]['inside']):.3g} %" if found else "–"


def _number(percent: float) -> str:
    return f"{percent:,.0f}" if abs(percent) >= 10 else f"{percent:.1f}"


def _milliseconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _name(watcher: str) -> str:
    return {"nothing again": "*baseline vs. baseline*"}.get(watcher, watcher)


def _default(rows: Sequence[Row]) -> str:
    """The other optimizer, in a line."""
    found = [row for row in rows if row["optimizer"] == "default" and row["percent"] and row["workload"] in NETS]
    said = [
        f"{_name(r['watcher'])} on the {NETS[r['workload']]} {_cell([r], r['workload'], r['watcher'])}" for r in found
    ]
    return f"With AdamW as it is by default instead of fused: {', '.join(said)}." if said else ""


def _growth(rows: Sequence[Row]) -> str:
    chains = list(dict.fromkeys(row["workload"] for row in rows if row["workload"].startswith(CHAIN)))
    if not chains:
        return ""
    measured = {(row["watcher"], row["workload"]): row for row in rows if row["workload"] in chains and row["inside"]}
    head = "| inside, µs a module | " + " | ".join(f"{name.removeprefix(CHAIN)} modules" for name in chains) + " |"
    lines = [head, "|---|" + "---|" * len(chains)]
    for watcher in dict.fromkeys(watcher for watcher, _ in measured):
        cells = [_a_module(measured[watcher, chain]) if (watcher, chain) in measured else "–" for chain in chains]
        lines.append(f"| {watcher} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _a_module(row: Row) -> str:
    inside = float(row["inside"]) / 100 * float(row["base_ms"]) * 1e3
    return f"{inside / int(row['workload'].removeprefix(CHAIN)):.3g}"


def _limits(rows: Sequence[Row]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {r['what']} | {r['value']} |" for r in rows)]) if rows else ""


def _read(table: Path) -> list[Row]:
    if not table.exists():
        return []
    with table.open(newline="") as file:
        return list(csv.DictReader(file))
