"""Mutated logs for every reader: each must end as a Run or as a three-line error.

    python benchmarks/fuzz.py [--files 100000] [--reader NAME] [--again]

Takes a small true log of every format, damages it at random (flipped and lost bytes, cut tails, doubled and
swapped pieces, hostile numbers), and reads it as that format. Counts what came of it; anything but a Run or a
three-line error, a file that takes longer than ten seconds, or more than two gigabytes of memory is a failure and
is kept beside the results. "net" counts files on which a reader raised something that only the last safety net
turned into an error. Every reader has a process of its own and stops at its fiftieth failure. Writes
benchmarks/results/fuzz.csv reader by reader; what stands there is not done again, unless asked by name or with
--again. The seed is fixed.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import multiprocessing
import random
import resource
import signal
import sqlite3
import struct
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import numpy as np

from bedside.errors import BedsideError
from bedside.logs import FORMATS, find_runs, read_run
from bedside.logs.formats.tensorboard.crc32c import masked_crc32c
from bedside.record.run import Run

RESULTS = Path(__file__).parent / "results" / "fuzz.csv"
FIXTURES = Path(__file__).parent.parent / "tests" / "logs" / "fixtures"
TOO_LONG = 10  # seconds of processor time for one file of a few kilobytes
MEMORY = 2 * 2**30
MAX_FAILURES = 50  # after which a reader needs mending, not more files
TELL = 20_000  # files between two lines about the progress
HOSTILE = (
    b"nan", b"inf", b"-1", b"1e309", b"9" * 40, b"\xff" * 8, b"\0" * 16, b'"', b"[" * 50, b"{" * 50, b"NaN", b"null",
    b"\x80" * 12, b"loss", b"step", b",", b"\n", b"\r", b"1/0", b"-0", b"1e-400", b"<script>", b"../../x", b"\x1b[31m",
)  # fmt: skip


VALUES = (
    None,
    "",
    "NaN",
    float("nan"),
    float("inf"),
    -1,
    10**400,
    1e308,
    True,
    [],
    [1],
    {},
    {"a": {"b": 1}},
    "1/2",
    0.0,
)


def rows(count: int = 20) -> list[tuple[int, float, float]]:
    return [(i, 5.0 / (1 + i), 6.0 / (1 + i)) for i in range(count)]


def table(header: str, row: Callable[[int, float, float], str]) -> bytes:
    return "\n".join([header, *(row(*each) for each in rows())]).encode() + b"\n"


def lines(record: Callable[[int, float, float], object]) -> bytes:
    return "\n".join(json.dumps(record(*each)) for each in rows()).encode()


def events() -> list[bytes]:
    """TensorBoard events of one tag, TF1 and TF2 scalars in turn."""

    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    made = []
    for step, loss, _ in rows():
        tensor = field(8, b"\x08\x01" + field(5, struct.pack("<f", loss)))
        value = field(1, b"loss") + (b"\x15" + struct.pack("<f", loss) if step % 2 else tensor)
        made.append(b"\x09" + struct.pack("<d", 1e9 + step) + b"\x10" + bytes([step]) + field(5, field(1, value)))
    return made


def framed(made: list[bytes]) -> bytes:
    """Events as a file, with checksums that are right."""
    written = b""
    for data in made:
        length = struct.pack("<Q", len(data))
        written += length + checksum(length) + data + checksum(data)
    return written


@lru_cache(maxsize=1000)  # most events of a file are left as they are
def checksum(data: bytes) -> bytes:
    return struct.pack("<I", int(masked_crc32c(np.frombuffer(data, np.uint8).reshape(1, -1))[0]))


def database(schema: str, insert: str, values: list[tuple[object, ...]]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA page_size = 512")
            connection.executescript(schema)
            connection.executemany(insert, values)
            connection.commit()
        return path.read_bytes()


def mlflow() -> bytes:
    schema = """CREATE TABLE runs (run_uuid, name, status, start_time, lifecycle_stage); CREATE TABLE experiments (x);
        CREATE TABLE params (key, value, run_uuid);
        CREATE TABLE metrics (key, value FLOAT, timestamp, run_uuid, step, is_nan);
        INSERT INTO runs VALUES ('a', 'a', 'FINISHED', 1, 'active'); INSERT INTO params VALUES ('lr', '0.1', 'a');"""
    return database(schema, "INSERT INTO metrics VALUES ('loss', ?, ?, 'a', ?, 0)", [(v, s, s) for s, v, _ in rows()])


def trackio() -> bytes:
    schema = """CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_name TEXT, step INTEGER, metrics TEXT);
        CREATE TABLE configs (run_name TEXT, config TEXT); INSERT INTO configs VALUES ('a', '{"lr": 0.1}');"""
    values = [(s, json.dumps({"loss": v})) for s, v, _ in rows()]
    return database(schema, "INSERT INTO metrics (run_name, step, metrics) VALUES ('a', ?, ?)", values)


def messages() -> bytes:
    def metric(step: int, value: float, _: float) -> object:
        return {"type": "metric_msg", "payload": {"metric": {"metricName": "loss", "metricValue": value, "step": step}}}

    return lines(metric)


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("messages.json", content)
    return file.getvalue()


def mllog() -> bytes:
    points = [{"key": "eval_accuracy", "value": v, "metadata": {"epoch_num": s}} for s, v, _ in rows()]
    points.append({"key": "run_stop", "value": None, "metadata": {"status": "success"}})
    return "\n".join(f"step {i} loss 2.0\n:::MLLOG {json.dumps(point)}" for i, point in enumerate(points)).encode()


def state() -> bytes:
    history = [{"step": s, "loss": v, "eval_a_loss": w, "eval_a_runtime": 1, "grad_norm": v} for s, v, w in rows()]
    return json.dumps({"log_history": history, "global_step": 20, "max_steps": 100}).encode()


def trainer_log(step: int, value: float, _: float) -> object:
    return {"current_steps": step, "total_steps": 20, "percentage": 1.0, "loss": value}


ALGOPERF = "global_step,loss,validation/loss,accumulated_submission_time,preemption_count"
TEXT = b"[2024-01-01 00:00:00] step %d/20 | loss: %.3e | lr 1e-3 (0.1) | val loss %.3f\n"
FASTAI = "epoch,train_loss,valid_loss,accuracy,time"
ULTRALYTICS = "epoch, train/box_loss, metrics/mAP50(B), val/box_loss"

SEEDS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "tensorboard": ("events.out.tfevents.1", lambda: framed(events())),
    "wandb": ("run-a.wandb", lambda: (FIXTURES / "run-known.wandb").read_bytes()[:6000]),
    "mlflow": ("mlflow.db", mlflow),
    "trackio": ("trackio.db", trackio),
    "comet": ("comet.zip", lambda: zipped(messages())),
    "hf-trainer": ("trainer_state.json", state),
    "llama-factory": ("trainer_log.jsonl", lambda: lines(trainer_log)),
    "detectron2": ("metrics.json", lambda: lines(lambda s, v, w: {"iteration": s, "total_loss": v, "bbox/AP": w})),
    "json": ("log.jsonl", lambda: lines(lambda s, v, w: {"step": s, "train": {"loss": v}, "val/loss": w})),
    "algoperf": ("measurements.csv", lambda: table(ALGOPERF, lambda s, v, w: f"{s},{v},{w if s < 9 else ''},1,0")),
    "lightning": ("metrics.csv", lambda: table("epoch,step,train_loss,val_loss", lambda s, v, w: f"0,{s},{v},{w}")),
    "ultralytics": ("results.csv", lambda: table(ULTRALYTICS, lambda s, v, w: f"{s},{v},{w},1")),
    "fastai": ("history.csv", lambda: table(FASTAI, lambda s, v, w: f"{s},{v},{w},0.5,00:12")),
    "keras": ("training.csv", lambda: table("epoch,loss,val_loss", lambda s, v, w: f"{s},{v},{w}")),
    "wandb-export": ("chart.csv", lambda: table('"Step","a - loss","b - loss"', lambda s, v, w: f'"{s}","{v}","{w}"')),
    "csv": ("log.csv", lambda: table("step,loss,val_loss,lr", lambda s, v, w: f"{s},{v},{w},0.1")),
    "mlperf": ("result_0.txt", mllog),
    "text": ("train.log", lambda: b"".join(TEXT % each for each in rows())),
}


def damaged_inside(reader: str, rng: random.Random) -> bytes | None:
    """For files that a checksum or a parser guards: damage what is inside, and wrap it again."""
    if reader == "tensorboard":
        return framed([mutated(event, rng) if rng.random() < 0.2 else event for event in events()])
    if reader == "comet":
        return zipped(mutated(messages(), rng))
    if reader == "hf-trainer":
        found = json.loads(state())
        for _ in range(rng.randrange(1, 6)):
            record = rng.choice(found["log_history"])
            if isinstance(record, dict):
                record[rng.choice([*record, "x", "eval_x_loss"])] = rng.choice(VALUES)
        found[rng.choice([*found, "x"])] = rng.choice([*VALUES, found["log_history"]])
        return json.dumps(found).encode()
    return None


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The same bytes with one to eight accidents."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not damaged:
            break
        at = rng.randrange(len(damaged))
        end = min(len(damaged), at + rng.choice((1, 2, 8, 64, 512)))
        kind = rng.randrange(7)
        if kind == 0:
            damaged[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            damaged[at] = rng.randrange(256)
        elif kind == 2:
            del damaged[at:end]
        elif kind == 3:
            damaged[at:at] = rng.choice(HOSTILE)
        elif kind == 4:
            damaged[at:at] = damaged[at:end]
        elif kind == 5:
            del damaged[at:]
        else:
            other = rng.randrange(len(damaged))
            damaged[at:end] = damaged[other : other + (end - at)]
    return bytes(damaged)


class TooLong(Exception):
    """A file took longer than TOO_LONG."""


def read_one(path: Path, reader: str) -> str:
    """`run`, `error` or `net`; raises whatever else happens."""
    try:
        run = read_run(find_runs(path, format_in=reader)[0])
    except BedsideError as error:
        if len(str(error).splitlines()) != 3:
            raise AssertionError(f"not three lines: {error}") from error
        return "net" if "it is damaged (" in str(error) else "error"
    if not isinstance(run, Run):
        raise AssertionError(f"not a Run: {run!r}")
    for key in run.series_keys:
        if (np.diff(run.series(*key).steps) <= 0).any():
            raise AssertionError(f"{key}: steps do not increase")
    return "run"


def fuzz(reader: str, files: int, folder: Path) -> dict[str, object]:
    name, make = SEEDS[reader]
    seed, path, rng = make(), folder / name, random.Random(f"{reader} 1")
    counts = {"run": 0, "error": 0, "net": 0, "failure": 0}
    slowest, began = 0.0, time.perf_counter()
    path.write_bytes(seed)
    if read_one(path, reader) != "run":
        raise SystemExit(f"the seed of {reader} is no run")
    for number in range(files):
        path.write_bytes((number % 2 and damaged_inside(reader, rng)) or mutated(seed, rng))
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, TOO_LONG)  # of this process's own time: the machine has other work
        try:
            counts[read_one(path, reader)] += 1
        except Exception as failure:
            counts["failure"] += 1
            kept = RESULTS.parent / f"fuzz-{reader}-{number}{path.suffix}"
            kept.write_bytes(path.read_bytes())
            print(f"  {reader} {number}: {type(failure).__name__}: {failure} (kept as {kept.name})", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, time.process_time() - start)
        if counts["failure"] >= MAX_FAILURES:
            break
        if (number + 1) % TELL == 0:
            print(f"  {reader}: {number + 1:,} files, {time.perf_counter() - began:.0f} s, {counts}", flush=True)
    took = time.perf_counter() - began
    return {
        "reader": reader,
        "files": sum(counts.values()),
        **counts,
        "slowest_ms": round(1e3 * slowest, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "seconds": round(took, 1),
    }


def rows_so_far() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open() as file:
        return list(csv.DictReader(file))


def write(result: dict[str, object]) -> None:
    """Into the table, in place of what it said about this reader."""
    kept = [row for row in rows_so_far() if row["reader"] != result["reader"]]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(result))
        writer.writeheader()
        writer.writerows(sorted([*kept, result], key=lambda row: list(SEEDS).index(str(row["reader"]))))


def work(reader: str, files: int) -> None:
    """All of one reader's files, within the limits; exits with 1 if any was a failure."""

    def ring(*_: object) -> None:
        raise TooLong(f"longer than {TOO_LONG} s")

    signal.signal(signal.SIGPROF, ring)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        result = fuzz(reader, files, Path(folder))
    print(result, flush=True)
    write(result)
    sys.exit(result["failure"] != 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--reader", choices=[*SEEDS], action="append")
    parser.add_argument("--again", action="store_true", help="also the readers that the table has")
    options = parser.parse_args()
    missing = {each.name for each in FORMATS} - set(SEEDS) - {"aim"}  # Aim's files are read by Aim
    if missing:
        raise SystemExit(f"no seed for {', '.join(sorted(missing))}")
    done = {row["reader"] for row in rows_so_far() if int(row["files"]) >= options.files}
    asked = options.reader or [reader for reader in SEEDS if options.again or reader not in done]
    failed = []
    for reader in asked:
        process = multiprocessing.get_context("fork").Process(target=work, args=(reader, options.files))
        process.start()
        process.join()
        if process.exitcode:
            failed.append(reader)
    if failed:
        raise SystemExit(f"failures of {', '.join(failed)}")


if __name__ == "__main__":
    main()
