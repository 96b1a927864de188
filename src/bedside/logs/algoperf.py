"""AlgoPerf's `measurements.csv`: a row per logged step and a row per evaluation, written by pandas.

Its train/ metrics are evaluations of the training set in eval mode; a blank loss beside filled siblings is NaN.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bedside.logs.format import Format, text_of
from bedside.logs.log import Log
from bedside.logs.table import header_of, read_table


def recognises(path: Path, head: bytes) -> bool:
    names = set(header_of(head))
    return {"global_step", "accumulated_submission_time", "preemption_count"} <= names


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = read_table(paths[0], "algoperf", blank_may_be_nan=True)
    log.config.update(hparams_beside(paths[0]))
    return log


def hparams_beside(path: Path) -> dict[str, object]:
    """The hyperparameters that AlgoPerf stores next to its measurements."""
    beside = path.with_name("hparams.json")
    if not beside.is_file():
        return {}
    try:
        found = json.loads(text_of(beside, 2**20))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


FORMAT = Format("algoperf", "AlgoPerf measurements.csv", recognises, read, is_folder=True)
