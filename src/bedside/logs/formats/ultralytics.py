"""Ultralytics' `results.csv`: one row per epoch, padded names, part losses that add up to the loss.

The parts are logged already multiplied by their gains, so their sum is what was minimised. `metrics/…` are
measured on the validation set.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.csv import header_of, read_table
from bedside.logs.formats.log_format import Format, head_of
from bedside.logs.log import Log
from bedside.logs.sidecar_settings import settings_beside


def recognises(path: Path, head: bytes) -> bool:
    names = header_of(head)
    return (
        "epoch" in names and any(n.startswith("metrics/") for n in names) and any(n.startswith("val/") for n in names)
    )


def read(paths: Sequence[Path], part: str = "") -> Log:
    names = header_of(head_of(paths[0], 2**20))
    rename = {name: _validation(name) for name in names if name.startswith("metrics/")}
    log = read_table(paths[0], "ultralytics", rename=rename)
    log.parts_add_up = True
    log.config.update(settings_beside(paths[0]))
    return log


def _validation(name: str) -> str:
    """`metrics/mAP50-95(B)` as `val/mAP50-95`; masks and poses keep their letter."""
    return "val/" + name.removeprefix("metrics/").replace("(B)", "").replace("(", "_").replace(")", "")


FORMAT = Format("ultralytics", "Ultralytics results.csv", recognises, read, is_folder=True)
