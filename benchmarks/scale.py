"""What diagnosing a long run costs: by default 100,000 steps of 200 metrics, written through the store as `watch` does.

    python benchmarks/scale.py [--steps 100000] [--metrics 200] [--rules]

The run is synthetic and healthy, with the vitals of a watched one, so that as many rules as possible look at it to the
end. Diagnosing happens in a process of its own, so that its peak memory is its own; `--rules` lists the slowest rules.
Prints a table and writes benchmarks/results/scale.csv. The aim: under 5 seconds and 1 GB.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bedside.record.run import Key, Parameter
from bedside.record.sqlite.writer import Store

RESULTS = Path(__file__).parent / "results" / "scale.csv"
CHUNK = 2000  # rows written at a time
EVALUATIONS = 100
ROUNDS = 3  # the quickest of them counts: the others met other people's work
PER_MODULE = ("grad_norm", "param_norm", "update_norm", "relative_update_norm")


def columns(metrics: int) -> tuple[list[Key], list[Key]]:
    """Scalars of the whole run, and four vitals for as many modules as there is room for."""
    names = (
        "loss lr grad_norm grad_norm_clipped clip_threshold grad_clip_ratio clip_active update_norm param_norm "
        "relative_update_norm effective_lr_ratio step_time nonfinite_grads nonfinite_params micro_batches "
        "grads_not_zeroed"
    )
    scalars = [(name, "") for name in names.split()]
    modules = (metrics - len(scalars)) // len(PER_MODULE)
    return scalars, [(vital, f"layers.{i}") for vital in PER_MODULE for i in range(modules)]


def readings(steps: np.ndarray, total: int, keys: list[Key], noise: np.random.Generator) -> np.ndarray:
    """A loss that falls to a floor under a warm-up and a cosine, and norms that go with it."""
    share = steps / total
    rate = 3e-4 * np.minimum(steps / (0.02 * total), 0.5 * (1 + np.cos(np.pi * share)) + 0.05)
    fall = 2.5 + 7.5 * np.exp(-12 * share)
    shapes = {
        "loss": fall,
        "lr": rate,
        "grad_norm": 0.1 * fall,
        "grad_norm_clipped": 0.1 * fall,
        "clip_threshold": np.ones(len(steps)),
        "grad_clip_ratio": 0.1 * fall,
        "update_norm": 100 * rate + 1e-4,
        "param_norm": 100 + 30 * share,
        "relative_update_norm": rate + 1e-6,
        "effective_lr_ratio": 10 * rate,
        "step_time": np.full(len(steps), 0.2),
        "micro_batches": np.ones(len(steps)),
    }
    given = ("lr", "clip_threshold", "micro_batches")
    rows = np.empty((len(steps), len(keys)))
    for place, (vital, _) in enumerate(keys):
        shape = shapes.get(vital, np.zeros(len(steps)))
        rows[:, place] = shape if vital in given else shape * np.exp(0.05 * noise.standard_normal(len(steps)))
    return rows


def write(run_dir: Path, steps: int, metrics: int) -> None:
    scalars, modules = columns(metrics)
    noise = np.random.default_rng(0)
    store = Store.create(run_dir)
    store.config({"vocab_size": 50304, "optimizers": [{"name": "AdamW", "lr": 3e-4, "weight_decay": 0.1}]})
    for start in range(0, steps, CHUNK):
        batch = np.arange(start, min(start + CHUNK, steps))
        for name, keys, dtype in (("scalars", scalars, "f8"), ("modules", modules, "f4")):
            rows = readings(batch, steps, keys, noise)
            store.rows(store.declare(name, keys, dtype), batch.tolist(), batch.astype(float).tolist(), rows)
    for at in np.linspace(steps // EVALUATIONS, steps - 1, EVALUATIONS).astype(int).tolist():
        level = 2.6 + 7.5 * float(np.exp(-12 * at / steps))
        store.metric(at, "val/loss", level * (1 + 0.003 * float(noise.standard_normal())))
    owners = dict.fromkeys(owner for _, owner in modules)
    store.parameters([Parameter(f"{o}.weight", o, 10**6, gradient_steps=steps, watched_steps=steps) for o in owners])
    store.close(finished=True)


def diagnose(run_dir: Path) -> None:
    """In a process of its own: open, diagnose, and say how long it took and how much memory it needed."""
    from bedside.diagnosis.engine import examine
    from bedside.record.sqlite.reader import open_run
    from bedside.rules import CATALOGUE

    began = time.perf_counter(), time.process_time()
    answer = examine(open_run(run_dir))
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    run = open_run(run_dir)
    run.matching("")  # what is timed below is the rules, not the reading
    slow = {}
    for rule in CATALOGUE:
        start = time.process_time()
        rule.examine(run)
        slow[rule.name] = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"wall": wall, "cpu": cpu, "megabytes": peak, "verdict": answer.verdict, "examined": len(answer.examined)}
    print(json.dumps({**result, "rules": slow}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=200)
    parser.add_argument("--rules", action="store_true", help="list the slowest rules")
    parser.add_argument("--diagnose", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.diagnose:
        diagnose(options.diagnose)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "run", options.steps, options.metrics)
        command = [sys.executable, __file__, "--diagnose", f"{folder}/run"]
        rounds = [
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(ROUNDS)
        ]
    best = min(rounds, key=lambda each: each["cpu"])
    rows = [
        ("steps", options.steps, ""),
        ("metrics", options.metrics, ""),
        ("rules that looked", best["examined"], ""),
        ("diagnose, wall", round(min(each["wall"] for each in rounds), 2), "s"),
        ("diagnose, cpu", round(best["cpu"], 2), "s"),
        ("peak memory", round(max(each["megabytes"] for each in rounds)), "MB"),
    ]
    for name, number, unit in rows:
        print(f"{name:20}{number:>10} {unit}")
    print(f"verdict: {best['verdict']}")
    if options.rules:
        for name, seconds in sorted(best["rules"].items(), key=lambda each: -each[1])[:15]:
            print(f"  {name:30}{1000 * seconds:8.0f} ms")
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("what", "figure", "unit"), *rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
