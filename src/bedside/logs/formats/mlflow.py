"""MLflow: the SQLite store (`mlflow.db`, one run per id) and the file store (`metrics/<name>` in a run's folder).

SQLite cannot hold NaN or infinities, so MLflow stores NaN as 0.0 with a mark and infinity as the largest double.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from bedside.logs.formats.log_format import Format, Unreadable, text_of
from bedside.logs.formats.sqlite import MAGIC, reading, tables_of
from bedside.logs.log import Column, Log
from bedside.logs.numbers import number
from bedside.logs.plain_files import may_open
from bedside.naming.config_names import plain_yaml

LARGEST_FLOAT = sys.float_info.max  # what MLflow writes for infinity
RUN_FILE = "meta.yaml"
FINISHED = {"FINISHED": True, "3": True, "FAILED": False, "4": False, "KILLED": False, "5": False}
MAX_METRICS = 20_000
MAX_PARAMETERS = 1000
MAX_BYTES = 2**28


def recognises(path: Path, head: bytes) -> bool:
    if head.startswith(MAGIC):
        try:
            return {"metrics", "runs", "experiments"} <= tables_of(path)
        except Unreadable:
            return False
    return path.name == RUN_FILE and b"run_id" in head and (path.parent / "metrics").is_dir()


def parts(path: Path) -> list[str]:
    """Ids of the runs in a database that have metrics; a file store's run is its folder."""
    if path.name == RUN_FILE:
        return [""]
    with reading(path) as connection:
        query = """SELECT run_uuid FROM runs WHERE lifecycle_stage != 'deleted'
            AND run_uuid IN (SELECT run_uuid FROM metrics) ORDER BY start_time, run_uuid"""
        return [str(run) for (run,) in connection.execute(query)]


def read(paths: Sequence[Path], part: str = "") -> Log:
    return _read_files(paths[0].parent) if paths[0].name == RUN_FILE else _read_database(paths[0], part)


def _read_database(path: Path, run: str) -> Log:
    log = Log("mlflow")
    with reading(path) as connection:
        found = connection.execute("SELECT run_uuid, name, status FROM runs WHERE ? IN (run_uuid, name, '')", (run,))
        row = found.fetchone()
        if row is None:
            raise Unreadable(f"it has no run {run!r}")
        run, log.config["run_name"], log.finished = str(row[0]), row[1], FINISHED.get(str(row[2]))
        if "params" in tables_of(path):
            said = connection.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run,))
            log.config.update(said.fetchmany(MAX_PARAMETERS))
        log.config = {str(key): _plain(value) for key, value in log.config.items()}
        query = "SELECT key, step, value, timestamp, is_nan FROM metrics WHERE run_uuid = ? ORDER BY timestamp, rowid"
        name, column = None, Column()
        for key, step, value, time, is_nan in connection.execute(query, (run,)):
            if key != name:
                name = key
                known = log.column(str(key))
                column = Column() if known is None else known  # one too many is read and thrown away
            column.append(_number(step), math.nan if is_nan else _number(value), _number(time))
    return log


def _number(cell: object) -> float:
    """Infinities back, and numbers only: SQLite lets any cell hold any type."""
    value = cell if type(cell) is float else number(cell)
    if value is None:
        return math.nan
    return math.copysign(math.inf, value) if abs(value) >= LARGEST_FLOAT else value


def _read_files(folder: Path) -> Log:
    log = Log("mlflow")
    meta = plain_yaml(text_of(folder / RUN_FILE, 2**20))
    log.config["run_name"] = meta.get("run_name")
    log.finished = FINISHED.get(str(meta.get("status")))
    metrics = folder / "metrics"
    damaged = 0
    root = folder.resolve()
    for path in sorted(islice(metrics.rglob("*"), MAX_METRICS)):
        if may_open(path, root):
            damaged += _read_metric(path, path.relative_to(metrics).as_posix(), log)
    for path in sorted(islice((folder / "params").glob("*"), MAX_PARAMETERS)):
        if may_open(path, root):
            log.config[path.name] = _plain(text_of(path, 2**20).strip())
    if damaged:
        log.note(f"{damaged} damaged lines were left out.")
    return log


def _read_metric(path: Path, name: str, log: Log) -> int:
    """Lines `timestamp value step`; returns how many are none."""
    damaged = 0
    for line in text_of(path, MAX_BYTES).splitlines():
        words = line.split()
        cells = [number(word) for word in words[:3]]
        if len(words) < 2 or None in cells:
            damaged += 1
            continue
        time, value, step = (*cells, 0.0)[:3]
        log.add(name, step or 0.0, value if value is not None else math.nan, time or 0.0)
    return damaged


def _plain(value: object) -> object:
    """MLflow stores every parameter as text."""
    found = number(value) if isinstance(value, str) and len(value) < 64 else None
    return value if found is None else int(found) if math.isfinite(found) and found == int(found) else found


FORMAT = Format("mlflow", "MLflow SQLite or file store", recognises, read, parts=parts)
