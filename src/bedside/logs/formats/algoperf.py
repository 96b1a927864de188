"""AlgoPerf's `measurements.csv`: a row per logged step and a row per evaluation, written by pandas.

Its train/ metrics are evaluations of the training set in eval mode; a blank loss beside filled siblings is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.csv import header_of, read_table
from bedside.logs.formats.log_format import Format
from bedside.logs.log import Log
from bedside.logs.sidecar_settings import settings_beside


def recognises(path: Path, head: bytes) -> bool:
    names = set(header_of(head))
    return {"global_step", "accumulated_submission_time", "preemption_count"} <= names


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = read_table(paths[0], "algoperf", blank_may_be_nan=True)
    log.config.update(settings_beside(paths[0]))
    return log


FORMAT = Format("algoperf", "AlgoPerf measurements.csv", recognises, read, is_folder=True)
