"""Lightning's CSVLogger: `metrics.csv`, wide and sparse.

Train and validation values of one step stand on rows of their own; a blank cell was not logged and `nan` is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.csv import header_of, read_table
from bedside.logs.formats.log_format import Format
from bedside.logs.log import Log
from bedside.logs.sidecar_settings import settings_beside


def recognises(path: Path, head: bytes) -> bool:
    names = header_of(head)
    return path.name == "metrics.csv" and "step" in names and "epoch" in names


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = read_table(paths[0], "lightning")
    log.config.update(settings_beside(paths[0]))
    return log


FORMAT = Format("lightning", "Lightning CSVLogger metrics.csv", recognises, read, is_folder=True)
