"""The README's four numbers, each from a committed table and with a link to how it was measured."""

from __future__ import annotations

import csv
from pathlib import Path

from bedside.zoo.score import read
from bedside.zoo.summary import shares


def front_numbers(root: Path) -> str:
    """A table of four lines: caught, false alarms, programs by independent authors, cost."""
    zoo = shares(read(root / "benchmarks/results/zoo_fresh_seed.csv"))
    rows = [
        ("zoo failures caught, on a random seed that was not used before (last version)", zoo["caught"], "docs/zoo.md"),
        ("healthy zoo runs with an alarm at the end (last version)", zoo["false alarms"], "docs/zoo.md"),
        ("faults caught at first sight in the newest programs by independent authors", _strangers(root), "docs/zoo.md"),
        ("added to the processor time of a training step by default", _cost(root), "docs/cost.md"),
    ]
    lines = [f"| {what} | **{number}** | [how it was measured]({link}) |" for what, number, link in rows]
    return "\n".join(["| | | |", "|---|---|---|", *lines])


def _strangers(root: Path) -> str:
    """Of the last round that was scored before any rule was changed for it: every other set was seen since."""
    with (root / "benchmarks/results/strangers_first_sight.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    newest = max(row["half"] for row in rows)
    rows = [row for row in rows if row["half"] == newest]
    caught = sum(int(row["caught"]) for row in rows)
    return f"{caught}/{len(rows)} ({100 * caught / len(rows):.0f} %)"


def _cost(root: Path) -> str:
    """Of the smallest and the largest net, where the default was measured."""
    with (root / "benchmarks/results/overhead.csv").open(encoding="utf-8", newline="") as table:
        rows = {
            row["workload"]: row
            for row in csv.DictReader(table)
            if row["watcher"] == "bedside" and row["optimizer"] == "fused"
        }
    mlp, gpt = rows["mlp"], rows["gpt"]
    return (
        f"{float(mlp['percent']):.1f} % of {float(mlp['base_ms']):.1f} ms, "
        f"{float(gpt['percent']):.1f} % of {float(gpt['base_ms']):.0f} ms"
    )
