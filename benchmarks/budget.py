"""Whether the budget is kept end to end: watched trainings against unwatched ones, from the first step on.

    python benchmarks/budget.py                     three nets, a quarter of an hour
    python benchmarks/budget.py mlp --rounds 10

Two fresh processes, one of them watched as `bedside.watch` does it by default, run one after the other, the watched one
first in every second round: 500 steps, 1,000 more, 500 more; processor time, one thread. Taking turns would disturb
what depends on the clock, such as the writing, and would throw each out of the other's cache. *Start* is what the first
500 steps cost together, but for `watch` itself, which is paid before them. *Later* is what 500 steps cost after 1,500.
Prints per cent of the unwatched steps, the median of the rounds and their range, beside what bedside itself accounts
for: seconds by the clock, so in per cent of the rest of the same seconds, which somebody else's work prolongs as well.
Writes benchmarks/results/budget.csv, keeping the rows of what was not asked for.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from statistics import median

from cost.blocks import Worker

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "budget.csv"
COLUMNS = ("workload", "phase", "steps", "step_ms", "percent", "low", "high", "own_percent", "rounds")
WORKLOADS = ("mlp", "deep", "transformer")
PHASES = {"start": (0, 500), "between": (500, 1500), "later": (1500, 2000)}
PLACES = {"watched": "cost.watchers:Bedside", "unwatched": "cost.watchers:Watcher"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", choices=[*WORKLOADS, []], metavar="WORKLOAD")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of processes for each net")
    parser.add_argument("--start-only", action="store_true", help="the first 500 steps and no more")
    asked = parser.parse_args()
    phases = {"start": PHASES["start"]} if asked.start_only else PHASES
    rows = []
    for name in asked.workloads or WORKLOADS:
        rounds = []
        for number in range(asked.rounds):
            rounds.append(one_round(name, phases, watched_first=number % 2 == 1))
            print(f"{name}, round {number + 1} of {asked.rounds}: {rounds[-1]}", file=sys.stderr)
        rows += [row(name, phase, [each[phase] for each in rounds]) for phase in phases if phase != "between"]
        print(*rows[-2:], sep="\n", flush=True)
    write(rows)


def one_round(name: str, phases: dict[str, tuple[int, int]], watched_first: bool) -> dict[str, dict[str, float]]:
    """Seconds of each phase, watched and unwatched, and the share of bedside's own account."""
    found: dict[str, dict[str, float]] = {phase: {} for phase in phases}
    for key in ("watched", "unwatched") if watched_first else ("unwatched", "watched"):
        worker = Worker(Path(sys.executable), name, PLACES[key], fused=True)
        try:
            for phase, (begin, end) in phases.items():
                took = worker.make(end - begin)
                found[phase][key] = (end - begin) * took["cpu"]
                if "own" in took:
                    found[phase]["own"] = took["own"] / (took["wall"] - took["own"])
        finally:
            worker.end()
    return found


def row(name: str, phase: str, rounds: list[dict[str, float]]) -> dict[str, object]:
    percent = [100 * (each["watched"] / each["unwatched"] - 1) for each in rounds]
    own = [100 * each["own"] for each in rounds]
    begin, end = PHASES[phase]
    step = median(1e3 * each["unwatched"] / (end - begin) for each in rounds)
    values = (name, phase, f"{begin}-{end}", f"{step:.2f}", *(f"{median(percent):.1f} {min(percent):.1f}".split()))
    return dict(zip(COLUMNS, (*values, f"{max(percent):.1f}", f"{median(own):.1f}", len(rounds)), strict=True))


def write(rows: list[dict[str, object]]) -> None:
    made = {(each["workload"], each["phase"]) for each in rows}
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as table:
            rows = [each for each in csv.DictReader(table) if (each["workload"], each["phase"]) not in made] + rows
    with RESULTS.open("w", newline="", encoding="utf-8") as table:
        writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda each: (str(each["workload"]), str(each["phase"]))))


if __name__ == "__main__":
    main()
