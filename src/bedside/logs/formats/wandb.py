"""W&B offline files (`run-<id>.wandb`): history, configuration and exit code, without wandb.

The file is a LevelDB log: a seven-byte header, then blocks of 32 KB with records of a checksum, a length and a
type (whole, first, middle, last). Each record is a protobuf `Record`. Go shuffles the metrics of a step, so
model order is restored by name.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bedside.logs.formats.log_format import Format, Unreadable
from bedside.logs.formats.protobuf import Malformed, fields, signed, text
from bedside.logs.log import Log
from bedside.logs.numbers import number

MAGIC = b":W&B"
HEADER = 7
BLOCK = 32768
MAX_RECORD_BYTES = 2**26  # bytes of one record put together from pieces
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
# Field numbers of `Record` and of its parts, as measured on files of wandb 0.23 and 0.31.
HISTORY, CONFIG, RUN, EXIT = 2, 5, 17, 18
ITEM, STEP = 1, 2
KEY, NESTED_KEY, VALUE_JSON = 1, 2, 16
BOOLEAN, INTEGER, NUMBER = 4, 5, 6
OWN = ("_step", "_runtime", "_timestamp", "_wandb")


def recognises(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC)


def read(paths: Sequence[Path], part: str = "") -> Log:
    data = paths[0].read_bytes()
    if not data.startswith(MAGIC):
        raise Unreadable("it does not begin as W&B files do")
    log = Log("wandb", keeps_order=False)
    damaged = 0
    for record in _records(data, log):
        try:
            _record(record, log)
        except Malformed:
            damaged += 1
    if damaged:
        log.note(f"{damaged} damaged records were left out.")
    return log


def _records(data: bytes, log: Log) -> Iterator[bytes]:
    at, size, pieces = HEADER, len(data), b""
    header = struct.Struct("<IHB")
    while at + header.size <= size:
        left = BLOCK - at % BLOCK
        if left < header.size:
            at += left
            continue
        _, length, kind = header.unpack_from(data, at)
        at += header.size
        if kind == 0 and length == 0:  # the rest of the block was never written
            at += left - header.size
            continue
        if length > left - header.size or kind > LAST:
            log.note("The file is damaged; what the broken blocks held was left out.")
            at += left - header.size
            continue
        piece = data[at : at + length]
        at += length
        if kind == WHOLE:
            yield piece
        elif kind == FIRST:
            pieces = piece
        elif kind in (MIDDLE, LAST) and pieces and len(pieces) < MAX_RECORD_BYTES:
            pieces += piece
            if kind == LAST:
                yield pieces
                pieces = b""


def _record(record: bytes, log: Log) -> None:
    for kind, message in fields(record):
        if not isinstance(message, bytes):
            continue
        if kind == HISTORY:
            _history(message, log)
        elif kind == CONFIG:
            log.config.update(_settings(message))
        elif kind == RUN:
            for inner, value in fields(message):
                if inner == 4 and isinstance(value, bytes):
                    log.config.update(_settings(value))
                elif inner == 8:
                    log.config["run_name"] = text(value)
        elif kind == EXIT:
            code = next((value for inner, value in fields(message) if inner == 1 and isinstance(value, int)), 0)
            log.finished = code == 0


def _history(message: bytes, log: Log) -> None:
    step: float | None = None
    row: dict[str, float] = {}
    for inner, value in fields(message):
        if inner == ITEM and isinstance(value, bytes):
            name, found = _item(value)
            numeric = number(found)
            if name == "_step":
                step = numeric
            elif numeric is not None and name not in OWN and not isinstance(found, str):
                row[name] = numeric
        elif inner == STEP and isinstance(value, bytes) and step is None:
            counts = [signed(n) for f, n in fields(value) if f == 1 and isinstance(n, int)]
            step = float(counts[0]) if counts else 0.0
    log.add_row(log.rows if step is None else step, row)


def _item(message: bytes) -> tuple[str, Any]:
    """(name, value) of a history or configuration item; the value is JSON text or one of the newer typed fields."""
    key, nested, value = "", [], None
    for inner, raw in fields(message):
        if inner == KEY:
            key = text(raw)
        elif inner == NESTED_KEY:
            nested.append(text(raw))
        elif inner == VALUE_JSON:
            try:
                value = json.loads(text(raw))
            except (ValueError, RecursionError):
                value = None
        elif inner == BOOLEAN and isinstance(raw, int):
            value = bool(raw)
        elif inner == INTEGER and isinstance(raw, int):
            value = signed(raw)
        elif inner == NUMBER and isinstance(raw, bytes) and len(raw) == 8:
            value = struct.unpack("<d", raw)[0]
    return key or ".".join(nested), value


def _settings(message: bytes) -> dict[str, Any]:
    found = dict(_item(value) for inner, value in fields(message) if inner == 1 and isinstance(value, bytes))
    return {name: value for name, value in found.items() if name not in OWN}


FORMAT = Format("wandb", "W&B offline .wandb file", recognises, read)
