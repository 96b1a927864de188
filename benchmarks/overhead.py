"""What watching costs, in per cent of the unwatched step, beside other ways of watching and other tools.

    python benchmarks/overhead.py --quick                     the MLP and the deep net, without other tools
    python benchmarks/overhead.py                             everything, three to four hours
    python benchmarks/overhead.py --limits                    transfers, memory, accuracy, budget: seven minutes
    python benchmarks/overhead.py --workloads mlp gpt --watchers bedside "naive hooks" --rounds 20

Watched and unwatched steps take turns block by block, in one training or, for other people's tools, in two processes
(`cost/blocks.py` says how they are compared); one core, one thread; processor time. Beside it, what is spent inside the
watcher, without the writing and the rules that the others do not have: by bedside's own account, or the time around the
calls of code that stands in the loop. Prints a table and writes benchmarks/results/overhead.csv, keeping the rows of
what was not asked for. `make docs` puts the README's table together from that file.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
from pathlib import Path
from typing import Any

from cost.blocks import Died, Measured, Unwatched, Worker, end, take_turns
from cost.tools import TOOLS
from cost.watchers import OURS
from cost.workloads import WORKLOADS, Workload
from peers.environments import NotInstalled, python_for

RESULTS = Path(__file__).parent / "results" / "overhead.csv"
LIMITS = RESULTS.with_name("limits.csv")
COLUMNS = (
    "workload",
    "optimizer",
    "watcher",
    "percent",
    "low",
    "high",
    "rounds",
    "base_ms",
    "own_us",
    "inside",
    "note",
)
QUICK = ["mlp", "deep"]
# Blocks of each way of watching, and of tools that can only be measured beside another process.
ROUNDS = {"mlp": 100, "deep": 40, "resnet": 10, "gpt": 8, "chain-1000": 15, "chain-5000": 8}
ROUNDS_OF_TOOLS = {"mlp": 30, "deep": 20, "resnet": 4, "gpt": 4}
OTHERWISE = 30
# What costs a per cent or two is measured more closely. (Starts, rounds in each.)
CLOSELY = ["nothing again", "bedside", "bedside, loss only", "ormas-monitor"]
CLOSE_ROUNDS = {"mlp": (6, 120), "deep": (3, 40), "resnet": (1, 25), "gpt": (1, 25)}
SET_ASIDE = [*OURS, "ormas-monitor"]  # all they do to a training are hooks and calls in the loop
WARM = ["bedside", "bedside, loss only"]  # what they do changes after the first hundreds of steps
SAMPLED = ["bedside"]  # most of what it does, it does at few steps: the usual block says nothing of it
STEADY = [name for name in OURS if name.startswith("bedside") and name not in WARM]
GROWTH = [name for name in WORKLOADS if name.startswith("chain-")]
OF_GROWTH = [
    "nothing again",
    "bedside, norms every step",
    "bedside, norms every step, native",
    "bedside, activations every step",
]

Row = dict[str, str]


def measure(workload: str, optimizer: str, watchers: list[str], rounds: int | None) -> list[Row]:
    print(f"{workload}, AdamW {optimizer}", file=sys.stderr)
    tools = [name for name in watchers if name not in SET_ASIDE]
    found = beside(workload, optimizer, tools, rounds or ROUNDS_OF_TOOLS.get(workload, OTHERWISE)) if tools else {}
    for name in watchers:
        if name in SET_ASIDE:
            starts, blocks = 1, rounds or ROUNDS.get(workload, OTHERWISE)
            if name in CLOSELY and not rounds:
                starts, blocks = CLOSE_ROUNDS.get(workload, (starts, blocks))
            found[name] = Measured()
            for _ in range(starts):
                found[name] += beside_itself(workload, optimizer, name, blocks)
    return [row(workload, optimizer, name, found[name]) for name in watchers]


def beside(workload: str, optimizer: str, watchers: list[str], rounds: int) -> dict[str, Measured]:
    """These take turns with an unwatched training of another process."""
    recorder, workers = {}, {}
    for name in watchers:
        try:
            workers[name] = start(workload, optimizer, name)
        except (NotInstalled, Died) as why:
            recorder[name] = str(why)[:200]
    unwatched = start(workload, optimizer, "nothing")
    try:
        found = take_turns(unwatched, workers, **turns(workload, list(workers), rounds))
    finally:
        end([unwatched, *workers.values()])
    return found | {name: Measured(note=note) for name, note in recorder.items()}


def beside_itself(workload: str, optimizer: str, name: str, rounds: int) -> Measured:
    """Takes turns with the same training unwatched."""
    try:
        worker = start(workload, optimizer, name)
    except (NotInstalled, Died) as why:
        return Measured(note=str(why)[:200])
    try:
        return take_turns(Unwatched(worker), {name: worker}, **turns(workload, [name], rounds))[name]
    finally:
        end([worker])


def start(workload: str, optimizer: str, name: str) -> Worker:
    requires, place = TOOLS.get(name, ((), OURS.get(name, "")))
    python = python_for(name.partition(" ")[0], requires)
    return Worker(python, workload, place, fused=optimizer == "fused", tool=name)


def turns(workload: str, watchers: list[str], rounds: int) -> dict[str, Any]:
    settings = WORKLOADS[workload]
    warm_up = {name: _warm_up(settings, name) for name in watchers}
    return {"warm_up": warm_up, "block": settings.block, "rounds": rounds}


def _warm_up(settings: Workload, name: str) -> int:
    return settings.warm_up if name in WARM else settings.steady if name in STEADY else settings.brief


def row(workload: str, optimizer: str, name: str, found: Measured) -> Row:
    one = dict.fromkeys(COLUMNS, "") | {"workload": workload, "optimizer": optimizer, "watcher": name}
    one |= {"rounds": str(found.rounds), "note": found.note}
    if found.rounds:
        percent, low, high = found.percent()
        one |= {"percent": f"{percent:.2f}", "low": f"{low:.2f}", "high": f"{high:.2f}"}
        one |= {"base_ms": f"{found.base_ms:.4g}"}
        if not math.isnan(found.own_us):
            one["own_us"] = f"{found.own_us:.4g}"
            if name not in SAMPLED:
                one["inside"] = f"{found.inside:.3g}"
    return one


def keep(rows: list[Row]) -> None:
    """Put these rows into the file, in place of older ones of the same kind."""
    known: dict[tuple[str, str, str], Row] = {}
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            known = {(r["workload"], r["optimizer"], r["watcher"]): r for r in csv.DictReader(file)}
    known |= {(r["workload"], r["optimizer"], r["watcher"]): r for r in rows}
    order = {name: place for place, name in enumerate([*WORKLOADS, *OURS, *TOOLS])}
    listed = sorted(known.values(), key=lambda r: (order[r["workload"]], r["optimizer"], order[r["watcher"]]))
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)


def show(rows: list[Row]) -> None:
    for r in rows:
        said = f"{r['percent']:>8} % [{r['low']}, {r['high']}]" if r["percent"] else f"  not measured: {r['note']}"
        own = f"  inside {r['own_us']} µs" if r["own_us"] else ""
        own += f", reading usually {r['inside']} %" if r["inside"] else ""
        print(f"{r['workload']:<12}{r['optimizer']:<9}{r['watcher']:<34}{said}{own}", flush=True)


def show_limits() -> None:
    from cost.limits import limits

    found = limits()
    with LIMITS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "value"])
        writer.writerows((what, f"{value:.3g}") for what, value in found.items())
    for what, value in found.items():
        print(f"{value:>10.3g}  {what}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ten minutes")
    parser.add_argument("--limits", action="store_true", help="transfers, memory and accuracy instead of time")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS)
    parser.add_argument("--optimizers", nargs="+", choices=["default", "fused"])
    parser.add_argument("--watchers", nargs="+", choices=[*OURS, *TOOLS])
    parser.add_argument("--rounds", type=int)
    asked = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # turns would send trainings from core to core, which one alone does not do
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if asked.limits:
        show_limits()
        return 0
    workloads = asked.workloads or (QUICK if asked.quick else list(WORKLOADS))
    optimizers = asked.optimizers or (["fused"] if asked.quick else ["fused", "default"])
    for workload in workloads:
        for optimizer in optimizers:
            everyone = [name for name in OURS if name != "nothing"] + ([] if asked.quick else list(TOOLS))
            watchers = asked.watchers or (OF_GROWTH if workload in GROWTH else everyone)
            rows = measure(workload, optimizer, watchers, asked.rounds or (12 if asked.quick else None))
            keep(rows)
            show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
