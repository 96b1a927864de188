"""W&B history exported from the web page: a CSV whose columns are `run name - metric`, with `__MIN` and `__MAX`.

`run.history().to_csv()` gives a plain table with `_step`; that is read by `csv.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.csv import fill_log, header_of, read_cells
from bedside.logs.formats.log_format import Format, Unreadable, head_of
from bedside.logs.log import Log

AXES = ("Step", "trainer/global_step", "Relative Time (Process)", "Relative Time (Wall)", "Wall Time", "epoch")
BETWEEN = " - "
BOUNDS = ("__MIN", "__MAX")


def recognises(path: Path, head: bytes) -> bool:
    names = header_of(head)
    return bool(names) and names[0] in AXES and any(BETWEEN in name for name in names[1:])


def parts(path: Path) -> list[str]:
    """The runs whose curves the chart had."""
    names = header_of(head_of(path, 2**20))
    return list(dict.fromkeys(name.rsplit(BETWEEN, 1)[0] for name in names[1:] if BETWEEN in name))


def read(paths: Sequence[Path], part: str = "") -> Log:
    table = read_cells(paths[0])
    names = table.names
    runs = parts(paths[0])
    if not runs:
        raise Unreadable("none of its columns is `run - metric`")
    run = part or runs[0]
    wanted = {0: names[0].lower()}
    for i, name in enumerate(names[1:], 1):
        owner, _, metric = name.rpartition(BETWEEN)
        if owner == run and not metric.endswith(BOUNDS) and not metric.startswith("_step"):
            wanted[i] = metric
    log = Log("wandb-export")
    fill_log(log, list(wanted.values()), [table.columns[i] for i in wanted])
    log.config["run_name"] = run
    return log


FORMAT = Format("wandb-export", "CSV exported from a W&B chart", recognises, read, parts=parts)
