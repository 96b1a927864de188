"""How fast other people's logs are read, beside the tools that wrote them.

    python benchmarks/logs.py [tensorboard] [mlflow] [tree] [hf]

- tensorboard: 200,000 scalars (20 tags × 10,000 steps), against EventAccumulator with nothing left out;
- mlflow: 20,000 readings in the SQLite store, against MlflowClient.get_metric_history (needs mlflow: run this one
  with an interpreter that has it);
- tree: `bedside diagnose` on 4,000 CSV runs of 300 rows, in processes on all cores;
- hf: a trainer_state.json of 1.5 MB.

Prints a table and writes its rows to benchmarks/results/logs.csv, keeping the rows of what was not asked for.
Every time is processor time, the best of three in a process of its own, imports left out: the machine may have other
work. Compare the ratios, not the seconds.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "logs.csv"
ROUNDS = 3
SCALARS = (20, 10_000)  # tags, steps
MLFLOW = (20, 1_000)
RUNS, ROWS = 4_000, 300

Row = tuple[str, str, float, str]  # what, who, value, unit


def best(read: str, setup: str = "") -> float:
    """Seconds of processor time of the quickest of some processes that run `setup`, then `read`."""
    code = f"import time\n{setup}\nbegan = time.process_time()\n{read}\nprint(time.process_time() - began)"
    times = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(ROUNDS)
    ]
    return min(float(each.stdout.split()[-1]) for each in times)


def compared(what: str, ours: float, theirs: float, who: str) -> list[Row]:
    return [(what, "bedside", ours, "s"), (what, who, theirs, "s"), (what, "ratio", theirs / ours, "×")]


def tensorboard(folder: Path) -> list[Row]:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    tags, steps = SCALARS
    for step in range(steps):
        for tag in range(tags):
            value = Summary.Value(tag=f"metrics/some_metric_{tag}", simple_value=1.0 / (1 + step))
            writer.add_event(Event(wall_time=1e9 + step, step=step, summary=Summary(value=[value])))
    writer.close()
    ours = best(f"assert len(load({str(folder)!r}).series_keys) == {tags}", "from bedside.logs import load")
    theirs = best(
        f"a = EventAccumulator({str(folder)!r}, size_guidance={{'scalars': 0}}); a.Reload();"
        "data = {tag: [(e.step, e.value) for e in a.Scalars(tag)] for tag in a.Tags()['scalars']}",
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator",
    )
    return compared(f"TensorBoard, {tags * steps:,} scalars", ours, theirs, "EventAccumulator")


def mlflow(folder: Path) -> list[Row]:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    uri = f"sqlite:///{folder}/mlflow.db"
    client = MlflowClient(uri)
    metrics, steps = MLFLOW
    run = client.create_run(client.create_experiment("benchmark")).info.run_id
    for tag in range(metrics):
        batch = [Metric(f"metric_{tag}", 1.0 / (1 + step), 1_000 + step, step) for step in range(steps)]
        client.log_batch(run, metrics=batch)
    ours = best(f"assert len(load('{folder}/mlflow.db').series_keys) == {metrics}", "from bedside.logs import load")
    theirs = best(
        f"data = [client.get_metric_history({run!r}, f'metric_{{i}}') for i in range({metrics})]",
        f"from mlflow import MlflowClient\nclient = MlflowClient({uri!r})\nclient.get_run({run!r})",
    )
    return compared(f"MLflow, {metrics * steps:,} readings", ours, theirs, "MlflowClient")


def tree(folder: Path) -> list[Row]:
    for run in range(RUNS):
        path = folder / f"{run // 100:02d}" / f"run_{run}" / "log.csv"
        path.parent.mkdir(parents=True)
        rows = [f"{i},{5 / (1 + 0.01 * i) + 0.01 * (run * i % 7)},{0.1},{1 + i % 3}" for i in range(ROWS)]
        path.write_text("step,loss,lr,grad_norm\n" + "\n".join(rows) + "\n")
    command = [
        sys.executable,
        "-c",
        "from bedside.cli import main; main()",
        "diagnose",
        str(folder),
        "--format",
        "json",
        "--fail-on",
        "never",
    ]
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    took, then = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert len(json.loads(out)) == RUNS
    cores = os.cpu_count() or 1
    worked = then.ru_utime + then.ru_stime - used.ru_utime - used.ru_stime
    what = f"tree of {RUNS:,} CSV runs of {ROWS} rows"
    return [
        (what, f"wall, {cores} cores, load {os.getloadavg()[0]:.0f}", took, "s"),
        (what, "processor time of all processes", worked, "s"),
        (what, f"processor time over {cores} cores", worked / cores, "s"),
        (what, "peak memory of one process", then.ru_maxrss / 1024, "MB"),
    ]


def hf(folder: Path) -> list[Row]:
    history = [
        {"step": i, "epoch": i / 1e3, "loss": 3.0, "grad_norm": 1.234567890123, "learning_rate": 1e-4}
        for i in range(15_000)
    ]
    path = folder / "trainer_state.json"
    path.write_text(json.dumps({"log_history": history, "global_step": 15_000, "max_steps": 15_000}))
    size = path.stat().st_size / 1e6
    return [
        (
            f"trainer_state.json of {size:.1f} MB",
            "bedside",
            best(f"load({str(path)!r})", "from bedside.logs import load"),
            "s",
        )
    ]


def main() -> None:
    parts = {"tensorboard": tensorboard, "mlflow": mlflow, "tree": tree, "hf": hf}
    asked = sys.argv[1:] or ["tensorboard", "tree", "hf"]
    found: list[Row] = []
    for name in asked:
        with tempfile.TemporaryDirectory() as folder:
            found += parts[name](Path(folder))
    kept: list[Row] = []
    if RESULTS.exists():
        with RESULTS.open() as file:
            old = [(row["what"], row["who"], float(row["value"]), row["unit"]) for row in csv.DictReader(file)]
        kept = [row for row in old if row[0] not in {new[0] for new in found}]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["what", "who", "value", "unit"])
        writer.writerows((what, who, f"{value:.3g}", unit) for what, who, value, unit in sorted([*kept, *found]))
    for what, who, value, unit in found:
        print(f"{what:<45} {who:<22} {value:8.3g} {unit}")


if __name__ == "__main__":
    main()
