"""What the record costs: writing a long run, reading one metric of it, reading all, and the live view.

    python benchmarks/record.py [--steps 100000] [--metrics 200]

The run has 8 scalars of the whole run and the rest per module, written in batches of 20 steps as `watch` does.
Each reading happens in a process of its own, so that its peak memory is its own. Prints a table and writes
benchmarks/results/record.csv. Times are of this machine: compare the ratios.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bedside.record.live_run import GrowingRun
from bedside.record.run import Key
from bedside.record.sqlite.reader import open_run
from bedside.record.sqlite.writer import Store

RESULTS = Path(__file__).parent / "results" / "record.csv"
SCALARS = 8
BATCH = 20  # steps between two flushes of the monitor
ROUNDS = 3  # the quickest of them counts: the others met other people's work

Row = tuple[str, float, str]


def columns(metrics: int) -> tuple[list[Key], list[Key]]:
    scalars = [("loss", ""), *((f"scalar_{i}", "") for i in range(1, SCALARS))]
    return scalars, [("grad_norm", f"layers.{i}") for i in range(metrics - SCALARS)]


def write(run_dir: Path, steps: int, metrics: int) -> list[Row]:
    scalars, modules = columns(metrics)
    values = np.random.default_rng(0).normal(size=(BATCH, metrics))
    store = Store.create(run_dir)
    began, began_cpu = time.perf_counter(), time.process_time()
    for start in range(0, steps, BATCH):
        batch = range(start, min(start + BATCH, steps))
        times = [float(step) for step in batch]
        store.rows(store.declare("scalars", scalars, "f8"), batch, times, values[: len(batch), :SCALARS])
        store.rows(store.declare("modules", modules, "f4"), batch, times, values[: len(batch), SCALARS:])
        store.commit_if_due()
    wall, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    store.close(finished=True)
    return [
        ("write a step, wall", 1e6 * wall / steps, "µs"),
        ("write a step, cpu", 1e6 * cpu / steps, "µs"),
        ("file", store.path.stat().st_size / steps, "bytes/step"),
    ]


def read(run_dir: Path, what: str) -> None:
    """In a process of its own: open, fetch, and say how long it took and how much memory it needed."""
    before = kilobytes("VmRSS")
    began = time.process_time()
    run = open_run(run_dir)
    if what == "the loss":
        got = [run.loss]
    elif what == "one module":
        got = [run.series("grad_norm", run.owners("grad_norm")[-1])]
    elif what == "everything":
        got = run.matching("")
    else:
        got = []
    seconds = time.process_time() - began
    after = kilobytes("VmHWM")
    readings = sum(len(series) for series in got)
    print(json.dumps({"seconds": seconds, "megabytes": (after - before) / 1024, "readings": readings}))


def kilobytes(field: str) -> int:
    """From /proc: `getrusage` would also count what the parent had when it started this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def read_in_its_own_process(run_dir: Path, what: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--read", what, "--run-dir", str(run_dir)]
    rounds = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(ROUNDS)]
    return min(rounds, key=lambda each: each["seconds"])


def live(steps: int, metrics: int) -> list[Row]:
    """The live view: what appending a step costs, and a look at every series, early and late."""
    scalars, modules = columns(metrics)
    every = [*scalars, *modules]
    values = np.random.default_rng(0).normal(size=(BATCH, metrics))
    growing = GrowingRun("run")
    rows: list[Row] = []
    appending = 0.0
    marks = [2000, steps]
    for start in range(0, steps, BATCH):
        began = time.perf_counter()
        growing.append(every, np.arange(start, start + BATCH), values)
        appending += time.perf_counter() - began
        if start + BATCH in marks:
            looks = []
            for _ in range(10 * ROUNDS):
                began = time.perf_counter()
                growing.run().matching("")
                looks.append(time.perf_counter() - began)
            rows.append((f"live view, cut out every series at step {start + BATCH}", 1e3 * min(looks), "ms"))
    return [("live view, append a step", 1e6 * appending / steps, "µs"), *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=200)
    parser.add_argument("--read", help=argparse.SUPPRESS)
    parser.add_argument("--run-dir", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.read:
        read(asked.run_dir, asked.read)
        return
    rows: list[Row] = [("steps", asked.steps, ""), ("metrics", asked.metrics, "")]
    with tempfile.TemporaryDirectory(prefix="bedside-") as folder:
        run_dir = Path(folder) / "run"
        rows += write(run_dir, asked.steps, asked.metrics)
        whats = ("nothing, only open", "the loss", "one module", "everything")
        found = {what: read_in_its_own_process(run_dir, what) for what in whats}
    assert found["everything"]["readings"] == asked.steps * asked.metrics
    for what in whats:
        rows.append((f"read {what}, cpu", 1e3 * found[what]["seconds"], "ms"))
    for what in whats[1:]:
        rows.append((f"read {what}, peak memory", found[what]["megabytes"], "MB"))
    for what in whats[1:3]:
        ratio = found[what]["seconds"] / found["everything"]["seconds"]
        rows.append((f"{what} / everything", ratio, "of the time"))
    rows += live(asked.steps, asked.metrics)
    show(rows)


def show(rows: list[Row]) -> None:
    for what, value, unit in rows:
        print(f"{what:<52}{value:>12,.4g} {unit}" if value < 1000 else f"{what:<52}{value:>12,.0f} {unit}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "value", "unit"])
        writer.writerows((what, f"{value:.4g}" if value < 1000 else f"{value:.0f}", unit) for what, value, unit in rows)


if __name__ == "__main__":
    main()
