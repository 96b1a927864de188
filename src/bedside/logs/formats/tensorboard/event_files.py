"""TensorBoard event files: TF1 scalars, TF2 tensors, resumed and split files, torn tails, flipped bits.

`tfrecord.py` finds the records. Each is an `Event` with, nearly always, one scalar; events of one tag repeat
each other but for time, step and value, so the first is decoded field by field and the rest are read at the
places where the first had them.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bedside.logs.formats.log_format import Format, Unreadable
from bedside.logs.formats.protobuf import Malformed, fields, signed, text, varint
from bedside.logs.formats.tensorboard.tfrecord import FRAME, find_records, first_length_is_right
from bedside.logs.log import MAX_COLUMNS, Column, Log
from bedside.logs.sidecar_settings import settings_beside
from bedside.naming.name_parts import SPLITS

IN_MEMORY = 2**28  # bytes: larger files are mapped, which is slower by the slice
MAX_LAYOUTS = 100_000  # tags with a layout remembered: a file with more is decoded record by record
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")


def recognises(path: Path, head: bytes) -> bool:
    if "tfevents" not in path.name and path.suffix not in (".tfevents", ".v2"):
        return False
    return len(head) >= FRAME and first_length_is_right(head)


def read(paths: Sequence[Path], part: str = "") -> Log:
    log = Log("tensorboard", config=settings_beside(paths[0]))
    top = Path(os.path.commonpath([path.parent for path in paths]))
    folders: dict[str, Scalars] = {}
    for path in sorted(paths, key=lambda p: (str(p.parent), p.name)):
        scalars = folders.setdefault(_split_of(path.parent, top), Scalars())
        _read_file(path, scalars)
    for prefix, scalars in folders.items():
        log.columns.update({prefix + tag: column for tag, column in scalars.columns.items()})
        log.notes += scalars.notes
    if len(paths) > 1:
        log.note(f"{len(paths)} event files were read as one run.")
    return log


def _split_of(folder: Path, top: Path) -> str:
    """Keras and estimators write train/ and validation/ beside each other: the folder is part of the name."""
    if folder == top and folder.name not in SPLITS:
        return ""
    name = folder.name if folder == top else folder.relative_to(top).as_posix()
    last = name.rsplit("/", 1)[-1].lower()
    return f"{SPLITS[last]}/" if last in SPLITS else ("" if folder == top else f"{name}/")


def _read_file(path: Path, scalars: Scalars) -> None:
    size = path.stat().st_size
    if size == 0:
        return
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        data = bytes(mapped) if size <= IN_MEMORY else mapped
        records = find_records(data)  # type: ignore[arg-type]  # a map slices into bytes as well
        for start, length in zip(records.starts, records.lengths, strict=True):
            try:
                scalars.read(data[start : start + length])
            except (Malformed, struct.error):
                records.damaged += 1
        del data
    if not records.starts:
        raise Unreadable("it holds no complete record")
    if records.torn:
        scalars.notes.append(f"{path.name} ends in the middle of a record, as a killed run leaves it.")
    if records.gaps:
        scalars.notes.append(f"{path.name} is damaged in {records.gaps} places; what lies there was left out.")
    if records.damaged:
        scalars.notes.append(f"{records.damaged} records of {path.name} are damaged and were left out.")


@dataclass
class _Layout:
    """Where the scalar lies in records of one tag, found by decoding one of them."""

    before: bytes
    at: int
    after: bytes


@dataclass
class Scalars:
    """All scalars of one run, tag by tag."""

    columns: dict[str, Column] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _at_the_end: dict[bytes, Column] = field(default_factory=dict)  # by all that stands between step and value
    _within: dict[tuple[int, bytes], tuple[_Layout, Column]] = field(default_factory=dict)

    def read(self, event: bytes) -> None:
        """Add the scalars of one `Event`. Most events repeat the layout of an earlier one with the same tag."""
        body = _body(event)
        if body:
            column = self._at_the_end.get(event[body:-4])
            if column is not None:
                column.steps.append(_step(event, body))  # not column.append: this line is passed once per scalar
                column.values.append(_FLOAT.unpack_from(event, len(event) - 4)[0])
                column.order.append(_DOUBLE.unpack_from(event, 1)[0])
                return
            known = self._within.get(_tag_of(event, body))
            if known is not None and self._read_within(event, body, *known):
                return
        self._decode(event, body)

    def _read_within(self, event: bytes, body: int, layout: _Layout, column: Column) -> bool:
        at = body + layout.at
        if event[body:at] != layout.before or event[at + 4 :] != layout.after:
            return False
        column.append(_step(event, body), _FLOAT.unpack_from(event, at)[0], _DOUBLE.unpack_from(event, 1)[0])
        return True

    def _decode(self, event: bytes, body: int) -> None:
        time, step, summary = 0.0, 0, b""
        for number, value in fields(event):
            if number == 1 and isinstance(value, bytes) and len(value) == 8:
                time = _DOUBLE.unpack(value)[0]
            elif number == 2 and isinstance(value, int):
                step = signed(value)
            elif number == 5 and isinstance(value, bytes):
                summary = value
        found = [_value(value) for number, value in fields(summary) if number == 1 and isinstance(value, bytes)]
        for tag, scalar, raw in found:
            if not tag or scalar is None:
                continue
            if tag not in self.columns and len(self.columns) >= MAX_COLUMNS:
                if not self.notes:
                    self.notes.append(f"It has more than {MAX_COLUMNS:,} metrics: the others were left out.")
                continue
            column = self.columns.setdefault(tag, Column())
            column.append(step, scalar, time)
            if body and len(found) == 1 and len(raw) == 4 and event.count(raw, body) == 1:
                self._remember(event, body, event.index(raw, body), column)

    def _remember(self, event: bytes, body: int, at: int, column: Column) -> None:
        if len(self._at_the_end) + len(self._within) >= MAX_LAYOUTS:
            return
        if at == len(event) - 4:
            self._at_the_end[event[body:at]] = column
        else:
            layout = _Layout(event[body:at], at - body, event[at + 4 :])
            self._within[_tag_of(event, body)] = (layout, column)


def _tag_of(event: bytes, body: int) -> tuple[int, bytes]:
    """What tells events of one tag from others: their length, and the tag where it nearly always stands."""
    return len(event) - body, event[body : body + 6 + event[body + 5]]


def _body(event: bytes) -> int:
    """Where the summary begins when time and step stand before it in the usual way; 0 when they do not."""
    if len(event) < 20 or event[0] != 0x09:
        return 0
    at = 9
    if event[9] == 0x10:
        at = 10
        while at < 15 and event[at] >= 0x80:
            at += 1
        at += 1
    return at if at + 6 < len(event) and event[at] == 0x2A else 0


def _step(event: bytes, body: int) -> int:
    if body == 11:
        return event[10]
    if body == 12:
        return event[10] & 0x7F | event[11] << 7
    step = shift = 0
    for byte in event[10:body]:
        step |= (byte & 0x7F) << shift
        shift += 7
    return step


def _value(message: bytes) -> tuple[str, float | None, bytes]:
    """(tag, scalar, its four bytes) of a `Summary.Value`: tag 1, simple_value 2, tensor 8."""
    tag, scalar, raw = "", None, b""
    for number, value in fields(message):
        if number == 1:
            tag = text(value)
        elif number == 2 and isinstance(value, bytes) and len(value) == 4:
            scalar, raw = _FLOAT.unpack(value)[0], value
        elif number == 8 and isinstance(value, bytes):
            scalar, raw = _tensor(value)
    return tag, scalar, raw


_CONTENT = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}  # dtype -> how tensor_content holds one element
_LISTS = {5: "<f", 6: "<d"}  # float_val and double_val


def _tensor(message: bytes) -> tuple[float | None, bytes]:
    """The element of a `TensorProto` that has one: dtype 1, shape 2, content 4, floats 5, doubles 6, ints 7, 10."""
    dtype, found, raw = 0, None, b""
    for number, value in fields(message):
        layout = _CONTENT.get(dtype) if number == 4 else _LISTS.get(number)
        if number == 1 and isinstance(value, int):
            dtype = value
        elif number == 2 and isinstance(value, bytes) and value:
            if any(_dimension(dim) != 1 for n, dim in fields(value) if n == 2 and isinstance(dim, bytes)):
                return None, b""
        elif layout and isinstance(value, bytes) and len(value) == struct.calcsize(layout):
            found = float(struct.unpack(layout, value)[0])
            raw = value if layout == "<f" else b""
        elif number in (7, 10):
            found = float(signed(value if isinstance(value, int) else varint(value, 0)[0]))
    return found, raw


def _dimension(message: bytes) -> int:
    return next((value for number, value in fields(message) if number == 1 and isinstance(value, int)), 0)


FORMAT = Format("tensorboard", "TensorBoard event files", recognises, read, is_folder=True)
