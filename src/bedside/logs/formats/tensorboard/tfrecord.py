"""The records of a TensorBoard file: where each begins, and which of them are whole.

A record is eight bytes of length, four of its checksum, the data, and four of the data's checksum. After a
damaged length the next record is found by its checksum, so one flipped bit costs one record and not the rest of
the file.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bedside.logs.formats.tensorboard.crc32c import masked_crc32c

FRAME = 16  # bytes around the data
CHECKED = 1024  # bytes: longer records (images, graphs) are taken on trust, their checksum would cost too much
MAX_RECORD_BYTES = 2**20  # bytes of a record that may hold scalars; images and graphs are longer
TOGETHER = 2**15  # records checked at once: enough for numpy, little enough for memory
GAPS = 1000  # damaged places after which a file is given up
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


@dataclass
class Records:
    """Start and length of every whole record's data, and what was wrong with the file."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    lengths: array[int] = field(default_factory=lambda: array("q"))
    torn: bool = False  # it ends within a record, as a killed run leaves it
    gaps: int = 0  # places where the next record had to be searched for
    damaged: int = 0  # records whose data fails its checksum


def first_length_is_right(head: bytes) -> bool:
    """Whether a file begins with a record."""
    return len(head) >= FRAME and _first_wrong_length(np.frombuffer(head, np.uint8), np.zeros(1, np.int64)) is None


def find_records(data: bytes) -> Records:
    """Walk along the file; bytes or anything else that slices into bytes."""
    view = np.frombuffer(data, np.uint8)
    found = Records()
    at: int | None = 0
    while at is not None and found.gaps < GAPS:
        at = _walk(data, view, at, found)
    _check_data(view, found)
    return found


def _walk(data: bytes, view: Bytes, at: int, found: Records) -> int | None:
    """Follow the lengths from `at`; returns where to go on after a damaged place."""
    unpack, size = struct.Struct("<Q").unpack_from, len(data)
    places, lengths = array("q"), array("q")
    while at + FRAME <= size:
        length = unpack(data, at)[0]
        if at + FRAME + length > size:
            break
        places.append(at)
        lengths.append(length)
        at += FRAME + length
    # The lengths are checked together: a wrong one that happened to fit led the walk astray from there on.
    ends = np.asarray([at] if at + 12 <= size else [], np.int64)
    wrong = _first_wrong_length(view, np.append(np.asarray(places), ends))
    good = len(places) if wrong is None else min(wrong, len(places))
    found.starts.frombytes((np.asarray(places)[:good] + 12).tobytes())
    found.lengths += lengths[:good]
    if wrong is None:
        found.torn = at < size
        return None
    broken = places[good] if good < len(places) else at
    found.gaps += 1
    following = _next_record(view, broken + 1)
    if following is None:
        found.torn = True
        found.gaps -= 1 if size - broken < FRAME else 0
    return following


def _first_wrong_length(view: Bytes, places: Places) -> int | None:
    for first in range(0, len(places), TOGETHER):
        rows = view[places[first : first + TOGETHER, None] + np.arange(12)]
        stored = np.ascontiguousarray(rows[:, 8:]).view("<u4").ravel()
        wrong = np.flatnonzero(masked_crc32c(rows[:, :8]) != stored)
        if len(wrong):
            return first + int(wrong[0])
    return None


def _next_record(view: Bytes, begin: int) -> int | None:
    """The next place whose eight bytes and their checksum agree."""
    if len(view) - begin < FRAME:
        return None
    rows = np.lib.stride_tricks.sliding_window_view(view[begin:], 12)
    for first in range(0, len(rows), TOGETHER):
        part = rows[first : first + TOGETHER]
        stored = np.ascontiguousarray(part[:, 8:]).view("<u4").ravel()
        hits = np.flatnonzero(masked_crc32c(part[:, :8]) == stored)
        if len(hits):
            return begin + first + int(hits[0])
    return None


def _check_data(view: Bytes, found: Records) -> None:
    """Leave out the short records whose data fails its checksum, judged together by length."""
    starts, lengths = np.asarray(found.starts), np.asarray(found.lengths)
    keep = lengths <= MAX_RECORD_BYTES
    order = np.argsort(lengths, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        if len(group) == 0 or (length := int(lengths[group[0]])) > CHECKED:
            continue
        for first in range(0, len(group), TOGETHER):
            some = group[first : first + TOGETHER]
            rows = view[starts[some, None] + np.arange(length + 4)]
            stored = np.ascontiguousarray(rows[:, length:]).view("<u4").ravel()
            bad = some[masked_crc32c(rows[:, :length]) != stored]
            keep[bad] = False
            found.damaged += len(bad)
    if not keep.all():
        found.starts, found.lengths = array("q", starts[keep].tobytes()), array("q", lengths[keep].tobytes())
