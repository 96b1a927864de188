"""What watching costs per rank, on 2, 4 and 8 processes: collectives, bytes and the time to read all of it back.

    python benchmarks/ranks.py

Every process count trains the same sharded network (FSDP2, gloo, CPU) watched and unwatched. Counted, not timed, are
the operations that talk to other ranks. Bytes are what the files hold, compared with the formula in docs/ranks.md. For
comparison the obvious alternative is measured as well: one all_reduce of all squared norms per recorded step.
Writes benchmarks/results/ranks.csv.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "ranks.csv"
RANKS = (2, 4, 8)
STEPS, LAYERS, WIDTH = 100, 8, 16
REDUCES = 50  # all_reduce calls that are timed; the median counts
COLUMNS = (
    "ranks",
    "collectives_per_step_unwatched",
    "collectives_per_step_watched",
    "bytes_per_recorded_step_and_rank",
    "bytes_by_the_formula",
    "milliseconds_to_read_all_norms",
    "all_reduce_bytes_instead",
    "all_reduce_microseconds_instead",
)


def main() -> None:
    rows = []
    for ranks in RANKS:
        with tempfile.TemporaryDirectory(prefix="bedside-ranks-") as folder:
            rows.append(measured(ranks, Path(folder)))
            print(dict(zip(COLUMNS, rows[-1], strict=True)), flush=True)
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])


def measured(ranks: int, folder: Path) -> list[object]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, __file__, str(folder)], env=environment, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    counted = json.loads((folder / "counted.json").read_text())
    milliseconds, owners = read_back(folder / "run")
    return [
        ranks,
        counted["unwatched"] / STEPS,
        counted["watched"] / STEPS,
        round(bytes_per_step(folder / "run" / "rank0.sqlite")),
        formula(owners),
        round(milliseconds, 1),
        counted["reduced_bytes"],
        round(1e6 * counted["reduce_seconds"]),
    ]


def formula(owners: int) -> int:
    """Of a step at which gradients and updates are read: two norms of each owner for gradients and four for updates in
    four bytes, eleven numbers of the whole in eight, a step and a time for each of five tables, and the columns of the
    core (loss, rate, times, clipping) in eight."""
    tables, core = 5, 6
    return 4 * 6 * owners + 8 * (3 + 5) + 16 * tables + 8 * core


def bytes_per_step(path: Path) -> float:
    """Of the rows of the five tables that every step has, as they lie in the file."""
    import sqlite3

    names = ("core", "norms", "gradients", "moves", "owned_moves")
    total = 0
    with sqlite3.connect(path) as connection:
        for number, name in connection.execute("SELECT id, name FROM metric_sets").fetchall():
            if name in names:
                query = f"SELECT sum(length(steps) + length(times) + length(vals)) FROM rows_{number}"
                total += connection.execute(query).fetchone()[0] or 0
    return total / STEPS


def read_back(folder: Path) -> tuple[float, int]:
    from bedside.record.sqlite.reader import open_run

    began = time.perf_counter()
    run = open_run(folder)
    series = run.of("grad_norm") + run.of("param_norm") + run.of("update_norm")
    seconds = time.perf_counter() - began
    assert all(len(each) == STEPS for each in series), "every rank has every step"
    return 1000 * seconds, len(run.owners("grad_norm"))


def train(folder: Path) -> None:
    """On every rank."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor
    from torch.utils._python_dispatch import TorchDispatchMode

    import bedside

    class Collectives(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if any(issubclass(each, DTensor) for each in types):
                return NotImplemented
            self.count += "c10d" in function.namespace
            return function(*args, **(kwargs or {}))

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    torch.manual_seed(dist.get_rank())

    def loop() -> int:
        with Collectives() as collectives:
            for _ in range(STEPS):
                optimizer.zero_grad()
                model(torch.randn(4, WIDTH)).square().mean().backward()
                optimizer.step()
        return collectives.count

    unwatched = loop()
    with bedside.watch(model, optimizer, run_dir=folder / "run", quiet=True, budget=None):
        watched = loop()
    squares = torch.zeros(3 * 2 * LAYERS, dtype=torch.float64)
    seconds = []
    for _ in range(REDUCES):
        began = time.perf_counter()
        dist.all_reduce(squares)
        seconds.append(time.perf_counter() - began)
    if dist.get_rank() == 0:
        counted = {"unwatched": unwatched, "watched": watched, "reduced_bytes": squares.nbytes}
        counted["reduce_seconds"] = sorted(seconds)[len(seconds) // 2]
        (folder / "counted.json").write_text(json.dumps(counted))
    dist.barrier()
    os._exit(0)  # gloo's threads now and then abort a process that ends by itself, watched or not


if __name__ == "__main__":
    train(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
