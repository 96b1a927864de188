"""fastai's CSVLogger (`history.csv`): one row per epoch; metrics without a split are measured on the validation set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.csv import header_of, read_table
from bedside.logs.formats.log_format import Format, head_of
from bedside.logs.log import Log

BEGINS = ["epoch", "train_loss", "valid_loss"]


def recognises(path: Path, head: bytes) -> bool:
    names = header_of(head)
    return names[:3] == BEGINS and names[-1] == "time"


def read(paths: Sequence[Path], part: str = "") -> Log:
    names = header_of(head_of(paths[0], 2**16))
    rename = {name: f"valid/{name}" for name in names[3:] if name != "time"}
    log = read_table(paths[0], "fastai", rename=rename)
    log.axis = "epoch"
    return log


FORMAT = Format("fastai", "fastai CSVLogger history.csv", recognises, read)
