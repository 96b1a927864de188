"""Records as JSON: one object per line (JSON lines), or one list of objects. Also LLaMA-Factory and Detectron2.

NaN may stand as the bare word that Python writes, as the string "NaN", or as null (read as missing).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.logs.filtered_nan import recover_filtered
from bedside.logs.formats.log_format import Format, Unreadable, encoding_of, text_of
from bedside.logs.hidden_nan import recover_nones
from bedside.logs.log import Log
from bedside.logs.numbers import number
from bedside.logs.split_files import read_by_split
from bedside.logs.step_axis import axis_of, find_axis
from bedside.naming.axes import AXES, plain
from bedside.naming.metric_names import read_name
from bedside.naming.name_parts import SPLITS

MAX_LINE_LENGTH = 2**22
MAX_BYTES = 2**28
DEEPEST = 3
STATISTICS = {"mean", "std", "var", "num", "count", "min", "max", "median", "sum"}  # of one metric, as StyleGAN logs it
# The beginning of an object that holds records and nothing before them.
_HOLDS_RECORDS = re.compile(
    r'\s*\{\s*"(?:(?:epochs?|history|logs?|records|entries|metrics|results|training_?(?:log|history))"\s*:\s*\['
    r'|(?:epoch[ _]?)?\d{1,6}"\s*:)\s*(?P<record>\{)',
    re.IGNORECASE,
)
SAYS_SPLIT = ("mode", "split", "phase", "stage", "subset")  # MMDetection: `"mode": "val"`


def first_record(head: bytes) -> dict[str, Any]:
    """The first JSON object of a file of records, from its first bytes; empty if it is none."""
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    if text.startswith("["):
        text = text[1:].lstrip()
    if not text.startswith("{"):
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def recognises(path: Path, head: bytes) -> bool:
    """A record with a step and a metric; MMDetection's first describes the machine, so the second counts as well.

    Records of one list are in order, so those with a loss need no step.
    """
    first, second = first_record(head), head.partition(b"\n")[2].partition(b"\n")[0]
    inner = _HOLDS_RECORDS.match(head.decode("utf-8-sig", errors="replace"))
    if inner is not None:
        record = first_record(head[inner.start("record") :]) or _cut_record(head[inner.start("record") :])
        return any(read_name(name).kind == "loss" for name in _numbers_of(record))
    listed = head.lstrip().startswith(b"[") and any(read_name(name).kind == "loss" for name in _numbers_of(first))
    return _is_record(first) or listed or (bool(first) and _is_record(first_record(second)))


def _cut_record(head: bytes) -> dict[str, Any]:
    """What a record whose end is not among the first bytes says."""
    return dict.fromkeys(re.findall(r'"([\w/ .-]{1,80})"\s*:\s*[-+\d.]', head.decode("utf-8", errors="replace")), 0.0)


def _is_record(record: Mapping[str, Any]) -> bool:
    names = _numbers_of(record)
    if find_axis(names) is None:
        return False
    return any(read_name(name).kind in ("loss", "metric", "grad_norm", "lr") for name in names)


def _numbers_of(record: Mapping[str, Any]) -> list[str]:
    """The fields that may be a reading each: a list is a whole curve, and belongs to another format."""
    return [name for name, value in flat(record).items() if not isinstance(value, list)]


def read(paths: Sequence[Path], part: str = "") -> Log:
    return read_by_split(paths, lambda path: read_records(objects(path), "json"))


def objects(path: Path) -> Iterator[Mapping[str, Any] | None]:
    """Every object of the file; None for a line that is none, so that the reader can count them."""
    with open(path, encoding=encoding_of(path), errors="replace") as file:
        start = file.read(256).lstrip()
    if start.startswith("["):
        yield from _list(path)
        return
    if _HOLDS_RECORDS.match(start):
        yield from _inner_records(path)
        return
    with open(path, encoding=encoding_of(path), errors="replace") as file:
        while line := file.readline(MAX_LINE_LENGTH):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                found = None
            yield found if isinstance(found, dict) else None


def _inner_records(path: Path) -> Iterator[Mapping[str, Any] | None]:
    """`{"epochs": [{…}, {…}]}`, `{"1": {…}, "2": {…}}`: the records of an object that holds nothing but them."""
    try:
        found = json.loads(text_of(path, MAX_BYTES))
    except (ValueError, RecursionError) as broken:
        raise Unreadable(f"it is not JSON ({broken})") from None
    for key, value in found.items():
        if isinstance(value, list):
            yield from (each if isinstance(each, dict) else None for each in value)
            return
        number_of_it = number(re.sub(r"(?i)^epoch[ _]?", "", key))
        if isinstance(value, dict) and number_of_it is not None:
            yield {"epoch": number_of_it, **value}


def _list(path: Path) -> Iterator[Mapping[str, Any] | None]:
    try:
        found = json.loads(text_of(path, MAX_BYTES))
    except (ValueError, RecursionError) as broken:
        raise Unreadable(f"it is not JSON ({broken})") from None
    if not isinstance(found, list):
        raise Unreadable("it is not a list of records")
    for record in found:
        yield record if isinstance(record, dict) else None


def flat(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """`{"train": {"loss": 1}}` as `{"train/loss": 1}`."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping) and "mean" in value and set(value) <= STATISTICS:
            found[f"{prefix}{key}"] = value["mean"]
        elif isinstance(value, Mapping) and depth < DEEPEST:
            found.update(flat(value, f"{prefix}{key}/", depth + 1))
        elif isinstance(value, list) and len(value) == 1:  # the history of a `fit` of one epoch, in a loop
            found[f"{prefix}{key}"] = value[0]
        else:
            found[f"{prefix}{key}"] = value
    return found


def read_records(records: Iterable[Mapping[str, Any] | None], format: str) -> Log:
    """Records with a step each; a record without one belongs to the step before it."""
    log = Log(format)
    rows: list[dict[str, Any]] = []
    damaged = 0
    for record in records:
        if record is None:
            damaged += 1
        else:
            rows.append(_of_its_split(flat(record)))
    if damaged:
        log.note(f"{damaged} lines are not records and were left out.")
    often = Counter(name for row in rows for name, value in row.items() if number(value) is not None)
    usual = [name for name, count in often.items() if count * 2 >= len(rows)]
    axis = axis_of(usual if find_axis(usual) else list(often), lambda name: _filled(rows, name), len(rows))
    log.axis = axis.kind
    if axis.note:
        log.note(axis.note)
    for row, step in zip(rows, axis.steps, strict=True):
        if step is not None:
            log.add_row(step, row, skip=tuple(axis.read_from))
    recover_nones(log)
    recover_filtered(log)
    return log


def _of_its_split(row: dict[str, Any]) -> dict[str, Any]:
    """`{"mode": "val", "loss": 1}` as `{"val/loss": 1}`; its own count is of evaluation batches, and no step."""
    split = next((SPLITS.get(str(row[key]).lower(), "") for key in SAYS_SPLIT if isinstance(row.get(key), str)), "")
    if split not in ("val", "test"):
        return row
    counts = {name for name in row if plain(name) in AXES["step"]}
    own = {name: value for name, value in row.items() if name not in counts or not _counts_batches(row)}
    return {_in_split(name, split): value for name, value in own.items()}


def _counts_batches(row: Mapping[str, Any]) -> bool:
    return any(plain(name) in AXES["epoch"] for name in row)


def _in_split(name: str, split: str) -> str:
    meaning = read_name(name)
    known = find_axis([name]) is not None or meaning.split in ("val", "test")
    return f"{split}/{name}" if meaning.kind in ("loss", "metric") and not known else name


def _filled(rows: Sequence[Mapping[str, Any]], name: str) -> list[float | None]:
    """A field of all records; where it is missing it is as it was in the record before."""
    found: list[float | None] = []
    last: float | None = None
    for row in rows:
        said = number(row.get(name))
        last = last if said is None else said
        found.append(last)
    return found


FORMAT = Format("json", "JSON lines or a JSON list of records", recognises, read)
