"""Plain files: one JSON object a line, or one value a line of CSV. Both can be read by `bedside diagnose` again."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from bedside.finding import Finding
from bedside.sinks.sink import Ending, Sink


def plain(value: float) -> float | str:
    """JSON has no NaN and no infinity; they are written as texts that every reader of ours knows."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


class JsonLines(Sink):
    """`{"step": 12, "train/loss": 0.5, …}` a line; findings and the verdict are lines of their own."""

    name = "JSONL"

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = path
        self._file: TextIO | None = None

    def open(self, run_dir: Path, config: Mapping[str, Any]) -> None:
        path = Path(self._path) if self._path is not None else run_dir / "metrics.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._line({"step": step, **{name: plain(value) for name, value in values.items()}})

    def finding(self, step: int, finding: Finding) -> None:
        self._line({"step": step, "finding": finding.code, "name": finding.name, "message": finding.message})

    def close(self, ending: Ending) -> None:
        self._line({"verdict": ending.verdict})
        if self._file is not None:
            self._file.close()

    def _line(self, data: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(data, allow_nan=False) + "\n")
            self._file.flush()


class Csv(Sink):
    """`step,name,value`: long, because columns come and go while a run grows."""

    name = "CSV"

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = path
        self._file: TextIO | None = None

    def open(self, run_dir: Path, config: Mapping[str, Any]) -> None:
        path = Path(self._path) if self._path is not None else run_dir / "metrics.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        self._file = path.open("a", encoding="utf-8", newline="")
        if new:
            csv.writer(self._file).writerow(["step", "name", "value"])

    def write(self, step: int, values: Mapping[str, float]) -> None:
        if self._file is not None:
            csv.writer(self._file).writerows([step, name, repr(value)] for name, value in values.items())
            self._file.flush()

    def close(self, ending: Ending) -> None:
        if self._file is not None:
            self._file.close()
