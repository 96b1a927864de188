"""A folder of many long runs: how soon the list and a chart are answered, how much memory that takes, many viewers."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

from pages.servers import megabytes, server
from scale import write

PORT = 8791
ADDRESS = f"http://127.0.0.1:{PORT}"
CHARTS = ("loss", "lr", "layers:grad_norm")
ROUNDS = 5
Numbers = dict[str, tuple[float, str]]


def load(runs: int, steps: int, metrics: int, viewers: int) -> Numbers:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root / "run-000", steps, metrics)
        for number in range(1, runs):
            shutil.copytree(root / "run-000", root / f"run-{number:03}")
        with server([Path(sys.executable).parent / "bedside", "serve", root, "--port", str(PORT)], ADDRESS) as leader:
            return _measured(leader, runs, viewers)


def _measured(leader: int, runs: int, viewers: int) -> Numbers:
    first = _seconds("/api/runs")
    lists = [_seconds("/api/runs") for _ in range(ROUNDS)]
    charts = [_seconds(f"/api/panel?run=run-{n:03}&id={quote(CHARTS[n % len(CHARTS)])}") for n in range(min(runs, 15))]
    again = [_seconds(f"/api/panel?run=run-000&id={quote(chart)}") for chart in CHARTS for _ in range(ROUNDS)]
    crowd = _crowd(viewers, runs)
    return {
        "list, first answer": (first * 1000, "ms"),
        "list, median": (statistics.median(lists) * 1000, "ms"),
        "chart of a run not seen before, median": (statistics.median(charts) * 1000, "ms"),
        "chart of a run not seen before, slowest": (max(charts) * 1000, "ms"),
        "chart of a run seen before, median": (statistics.median(again) * 1000, "ms"),
        f"chart with {viewers} viewers at once, median": (statistics.median(crowd) * 1000, "ms"),
        "memory of server and worker": (megabytes(leader), "MB"),
    }


def _seconds(path: str) -> float:
    began = time.perf_counter()
    with urllib.request.urlopen(ADDRESS + path, timeout=60) as answer:
        json.load(answer)
    return time.perf_counter() - began


def _crowd(viewers: int, runs: int) -> list[float]:
    """Each opens a stream and asks for charts, all at once."""
    took: list[float] = []

    def look(number: int) -> None:
        run = f"run-{number % min(runs, 5):03}"
        with urllib.request.urlopen(f"{ADDRESS}/api/stream?run={run}&panel=loss&cursor=-1", timeout=60) as stream:
            stream.readline()
            took.extend(_seconds(f"/api/panel?run={run}&id={quote(chart)}") for chart in CHARTS)

    threads = [threading.Thread(target=look, args=[number]) for number in range(viewers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took
