"""Aim repositories (`.aim`): kept in RocksDB, which only Aim's own package can read, so that is asked.

Whoever has an Aim repository has the package; without it the error names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bedside.errors import NotARun
from bedside.logs.formats.log_format import Format, Unreadable
from bedside.logs.log import Log

FOLDER = ".aim"
MARK = "run_metadata.sqlite"


def recognises(path: Path, head: bytes) -> bool:
    return path.name == MARK and path.parent.name == FOLDER


def parts(path: Path) -> list[str]:
    found = [str(run.hash) for run in _repo(path).iter_runs()]
    if not found:
        raise NotARun(
            f"Aim's index of {path.parent} lists no runs.",
            expected="a repository whose runs are indexed, as opening Aim's page does",
            try_="aim storage reindex",
        )
    return found


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = Log("aim")
    for run in _repo(paths[0]).iter_runs():
        if part not in ("", str(run.hash)):
            continue
        hparams = run.get("hparams", {})
        log.config.update(hparams if isinstance(hparams, dict) else {})
        log.config["run_name"] = run.name
        for metric in run.metrics():
            _metric(metric, log)
        break
    else:
        parts(paths[0])  # says what is the matter when there is no run at all
    return log


def _metric(metric: Any, log: Log) -> None:
    subset = metric.context.to_dict().get("subset", "")
    name = f"{subset}/{metric.name}" if subset else str(metric.name)
    if name.startswith("__system__"):
        return
    for step, (value, *_) in metric.data.items():
        log.add(name, float(step), float(value), log.rows)
        log.rows += 1


def _repo(path: Path) -> Any:
    try:
        aim = import_module("aim")
    except ImportError:
        raise NotARun(
            f"{path.parent} is an Aim repository, and Aim is not installed.",
            expected="the package aim, which alone can read its own files",
            try_="pip install aim",
        ) from None
    try:
        return aim.Repo(str(path.parent.parent))
    except Exception as refused:  # whatever a foreign package raises: the file cannot be read
        raise Unreadable(f"Aim cannot open it ({refused})") from None


FORMAT = Format("aim", "Aim repository", recognises, read, parts=parts)
