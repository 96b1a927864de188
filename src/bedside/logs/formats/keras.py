"""Keras: CSVLogger files (one row per epoch, no step) and `History.history` saved as JSON (lists by metric)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from bedside.logs.formats.csv import fill_log, header_of, read_table
from bedside.logs.formats.json_records import first_record, flat
from bedside.logs.formats.log_format import Format, Unreadable, head_of, text_of
from bedside.logs.hidden_nan import without_gaps
from bedside.logs.log import Log
from bedside.logs.numbers import number
from bedside.logs.step_axis import find_axis
from bedside.naming.metric_names import read_name
from bedside.naming.resolve import MEASURED

MAX_BYTES = 2**28
_LIST = re.compile(rb'"([^"\\]{1,200})"\s*:\s*\[\s*(?:[-\d.]|NaN|Infinity)')  # "val_loss": [0.5, …
SPARSE = 2  # times as long: the shorter list was written once in a while, not cut short


def recognises(path: Path, head: bytes) -> bool:
    names = header_of(head)
    if names:
        return names[0] == "epoch" and "loss" in names and (find_axis(names) or ("", ""))[1] == "epoch"
    return _looks_like_history(head)


def _looks_like_history(head: bytes) -> bool:
    """One object with lists of a loss or a metric; settings, names and times may stand beside them."""
    if not head.lstrip().startswith(b"{") or _is_one_of_many(head):
        return False
    names = (name.decode(errors="replace") for name in _LIST.findall(head))
    return any(read_name(name).kind in MEASURED for name in names)


def _is_one_of_many(head: bytes) -> bool:
    """Whether the first line is a whole object and others follow: records, each of which may hold a list."""
    first, _, rest = head.lstrip().partition(b"\n")
    return bool(rest.strip()) and bool(first_record(first))


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = read_table(paths[0], "keras") if header_of(head_of(paths[0], 2**20)) else _history(paths[0])
    log.axis = "epoch"
    return log


def _history(path: Path) -> Log:
    try:
        found = json.loads(text_of(path, MAX_BYTES))
    except (ValueError, RecursionError) as broken:
        raise Unreadable(f"it is not JSON ({broken})") from None
    if isinstance(found, dict) and isinstance(found.get("history"), dict):
        found = found["history"]
    if not isinstance(found, dict):
        raise Unreadable("it has no lists of metrics")
    columns = {str(k): [number(x) for x in v] for k, v in flat(found).items() if isinstance(v, list) and _numbers(v)}
    measured = [len(column) for name, column in columns.items() if read_name(name).kind in MEASURED]
    if not measured:
        raise Unreadable("none of its lists is a loss or a metric")
    length = max(measured)
    # Names of classes, epochs at which something began: lists of another length that nobody measured.
    columns = {k: v for k, v in columns.items() if len(v) == length or read_name(k).kind != "other"}
    columns.setdefault("epoch", [float(i) for i in range(length)])
    log = Log("keras", axis="epoch")
    if any(SPARSE * len(column) <= length for column in columns.values()):
        log.note("Its lists have different lengths: each was spread over the whole run.")
    fill_log(log, list(columns), [without_gaps(_spread(column, length)) for column in columns.values()])
    return log


def _spread(column: list[float | None], length: int) -> list[float | None]:
    """A loss per batch beside one per epoch: each epoch's stands where the epoch ends."""
    if SPARSE * len(column) > length:
        return column + [None] * (length - len(column))
    spread: list[float | None] = [None] * length
    for i, value in enumerate(column, 1):
        spread[i * length // len(column) - 1] = value
    return spread


def _numbers(values: list[object]) -> bool:
    return bool(values) and all(value is None or isinstance(value, (int, float, str)) for value in values)


FORMAT = Format("keras", "Keras CSVLogger or History JSON", recognises, read)
