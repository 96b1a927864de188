"""A very long run: does memory stay flat, the store grow linearly, and a step cost the same at the end as at the start?

    python benchmarks/soak.py [--steps 1000000] [--black-box]

A tiny model trains with every vital at every step (`budget=None`), the worst case for a monitor. At each tenth of the
run: resident memory, bytes on disk, processor time a step over that tenth, and how long another process takes to read
the loss and all gradient norms so far. Prints a table and writes benchmarks/results/soak.csv.
The aim: under 50 MB of growth after the first tenth, the last tenth within 10 % of the first.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

import bedside

RESULTS = Path(__file__).parent / "results" / "soak.csv"
PARTS = 10
READ = """
import sys, time
began = time.process_time()
import bedside
run = bedside.load(sys.argv[1])
imported = time.process_time()
values = sum(len(series) for series in [run.loss, *run.of("grad_norm")])
print(time.process_time() - imported)
"""


def resident() -> float:
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def read_seconds(run_dir: Path) -> float:
    done = subprocess.run([sys.executable, "-c", READ, str(run_dir)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def soak(steps: int, black_box: bool) -> list[dict[str, float]]:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs, targets = torch.randn(64, 16, 8), torch.randn(64, 16, 1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        box = True if black_box else None
        monitor = bedside.watch(model, optimizer, run_dir=run_dir, budget=None, quiet=True, black_box=box)
        for part in range(1, PARTS + 1):
            began = time.process_time()
            for step in range(steps // PARTS):
                loss = (model(inputs[step % 64]) - targets[step % 64]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            took = time.process_time() - began
            monitor._catch_up()  # what waits in memory goes to disk, so that its size can be compared
            rows.append(
                {
                    "black_box": float(black_box),
                    "steps": part * (steps // PARTS),
                    "microseconds_a_step": 1e6 * took / (steps // PARTS),
                    "resident_mb": resident(),
                    "disk_mb": sum(each.stat().st_size for each in run_dir.rglob("*") if each.is_file()) / 1e6,
                    "read_seconds": read_seconds(run_dir),
                }
            )
            print("  ".join(f"{name} {value:,.2f}" for name, value in rows[-1].items()), flush=True)
        monitor.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--black-box", action="store_true", help="with the black box on")
    options = parser.parse_args()
    rows = soak(options.steps, options.black_box)
    kept = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if float(row["black_box"]) != float(options.black_box)]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(kept)
        writer.writerows({name: f"{value:.6g}" for name, value in row.items()} for row in rows)
    first, last = rows[0], rows[-1]
    print(f"memory grew by {last['resident_mb'] - first['resident_mb']:.1f} MB after the first tenth")
    ratio = last["microseconds_a_step"] / first["microseconds_a_step"]
    print(f"a step of the last tenth took {ratio:.2f} of one of the first")
    whole, tenth = (1e6 * each["disk_mb"] / each["steps"] for each in (last, first))
    print(f"{whole:.0f} bytes a step, in the first tenth {tenth:.0f}")


if __name__ == "__main__":
    main()
