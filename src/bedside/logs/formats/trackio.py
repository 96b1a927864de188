"""Trackio's local store: one SQLite file per project, each row a run's step with its metrics as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.json_records import flat
from bedside.logs.formats.log_format import Format, Unreadable
from bedside.logs.formats.sqlite import MAGIC, reading, tables_of
from bedside.logs.log import Log

MAX_CONFIGS = 100  # of one run, which has one


def recognises(path: Path, head: bytes) -> bool:
    if not head.startswith(MAGIC):
        return False
    try:
        if not {"metrics", "configs"} <= tables_of(path):
            return False
        with reading(path) as connection:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(metrics)")}
    except Unreadable:
        return False
    return {"run_name", "step", "metrics"} <= columns


def parts(path: Path) -> list[str]:
    with reading(path) as connection:
        query = "SELECT run_name FROM metrics GROUP BY run_name ORDER BY min(id)"
        return [str(name) for (name,) in connection.execute(query)]


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = Log("trackio")
    with reading(paths[0]) as connection:
        run = part or next(iter(parts(paths[0])), "")
        rows = connection.execute("SELECT step, metrics FROM metrics WHERE run_name = ? ORDER BY id", (run,))
        for step, metrics in rows:
            found = _json(metrics)
            if found and isinstance(step, int):
                log.add_row(step, flat(found))
        said = connection.execute("SELECT config FROM configs WHERE run_name = ?", (run,))
        for (config,) in said.fetchmany(MAX_CONFIGS):
            log.config.update(_json(config))
    log.config["run_name"] = run
    return log


def _json(cell: object) -> dict[str, object]:
    """A cell as Trackio fills it: JSON as text or as bytes."""
    if not isinstance(cell, (str, bytes)):
        return {}
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


FORMAT = Format("trackio", "Trackio project database", recognises, read, parts=parts)
