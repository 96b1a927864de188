"""A block: the steps that were written in one go, as one row of a metric set's table.

SQLite takes nearly as long for a row of one step as for one of a hundred, so what is written together lies together.
Values lie column after column, so that one column of a block is one cut. The blocks of a segment follow each other
and never overlap; a block's key is that of its first step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.record.series import Steps, Values
from bedside.record.sqlite.schema import SEGMENT, key_of, rows_table

STEP, TIME = np.dtype("<i8"), np.dtype("<f8")
MAX_BYTES_IN_A_BLOCK = 2**22  # bytes of values in a block: SQLite reads all of them to cut out one column
CHUNK = 4096  # steps decoded at a time, so that memory is what was asked for and not what was read past

Packed = NDArray[np.floating[Any]]  # (columns, steps), in the metric set's own dtype


def insert(
    connection: sqlite3.Connection, set_id: int, segment: int, steps: Steps, times: Values, packed: Packed
) -> None:
    """Write steps, which increase and come after all that the segment has, as one block; as several if it is large."""
    most = max(1, MAX_BYTES_IN_A_BLOCK // max(1, len(packed) * packed.itemsize))
    for start in range(0, len(steps), most):
        here = slice(start, start + most)
        key = key_of(segment, int(steps[start]))
        row = (key, steps[here].tobytes(), times[here].tobytes(), packed[:, here].tobytes())
        connection.execute(f"INSERT INTO {rows_table(set_id)} VALUES (?, ?, ?, ?)", row)


def take_back(
    connection: sqlite3.Connection, set_id: int, segment: int, step: int, dtype: np.dtype[Any], width: int
) -> tuple[Steps, Values, Packed]:
    """Remove the blocks of a segment from the one that holds `step` on, and return what they held."""
    table, key = rows_table(set_id), key_of(segment, step)
    (begin,) = connection.execute(
        f"SELECT max(at) FROM {table} WHERE at BETWEEN ? AND ?", (key_of(segment, 0), key)
    ).fetchone()
    where = f"FROM {table} WHERE at BETWEEN ? AND ?"
    reach = (key if begin is None else begin, key_of(segment, SEGMENT - 1))
    pieces = list(cut(connection, table, dtype, *reach, 0, width))
    times = b"".join(row[0] for row in connection.execute(f"SELECT times {where} ORDER BY at", reach))
    connection.execute(f"DELETE {where}", reach)
    return (
        np.concatenate([np.empty(0, STEP), *(steps for steps, _ in pieces)]),
        np.frombuffer(times, TIME),
        np.concatenate([np.empty((width, 0), dtype), *(packed for _, packed in pieces)], axis=1),
    )


def cut(
    connection: sqlite3.Connection, table: str, dtype: np.dtype[Any], low: int, high: int, first: int, width: int
) -> Iterator[tuple[Steps, Packed]]:
    """Steps and values of `width` columns from `first` on, a chunk at a time, of the row keys from `low` to `high`."""
    last = high % SEGMENT
    count = f"length(steps) / {STEP.itemsize}"
    cursor = connection.execute(
        f"SELECT steps, substr(vals, ? * {count} + 1, ? * {count}) FROM {table} WHERE at BETWEEN ? AND ? ORDER BY at",
        (first * dtype.itemsize, width * dtype.itemsize, low, high),
    )
    left = size_of(connection)  # what lies in a file cannot be longer than it, unless its rows share their pages
    for rows in _chunks(cursor):
        left -= sum(len(steps) + len(values) for steps, values in rows)
        if left < 0:
            raise ValueError("its rows hold more than the file")
        for steps, packed in _decoded(rows, dtype, width):
            if steps[-1] <= last:
                yield steps, packed
            else:  # a branch was left, or the file was opened, in the middle of what is one block now
                shown = int(np.searchsorted(steps, last, "right"))
                yield steps[:shown], packed[:, :shown]


def size_of(connection: sqlite3.Connection) -> int:
    """Bytes of the database as this connection sees it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(size)


def last_key(connection: sqlite3.Connection, table: str, low: int, high: int) -> int | None:
    """The row key of the last step of the blocks that begin between these row keys."""
    found = connection.execute(
        f"SELECT at, substr(steps, -{STEP.itemsize}) FROM {table} WHERE at BETWEEN ? AND ? ORDER BY at DESC LIMIT 1",
        (low, high),
    ).fetchone()
    return None if found is None else key_of(found[0] // SEGMENT, int(np.frombuffer(found[1], STEP)[0]))


def last_time(connection: sqlite3.Connection, table: str, low: int, high: int) -> float:
    """When the last step of the blocks between these row keys was taken; 0 if there is none."""
    found = connection.execute(
        f"SELECT substr(times, -{TIME.itemsize}) FROM {table} WHERE at BETWEEN ? AND ? ORDER BY at DESC LIMIT 1",
        (low, high),
    ).fetchone()
    return 0.0 if found is None else float(np.frombuffer(found[0], TIME)[0])


def _chunks(cursor: sqlite3.Cursor) -> Iterator[list[tuple[bytes, bytes]]]:
    rows: list[tuple[bytes, bytes]] = []
    size = 0
    for row in cursor:
        rows.append(row)
        size += len(row[0])
        if size >= CHUNK * STEP.itemsize:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _decoded(rows: Sequence[tuple[bytes, bytes]], dtype: np.dtype[Any], width: int) -> Iterator[tuple[Steps, Packed]]:
    """Blocks of the same length that follow each other are decoded together: there may be one a step."""
    for size, alike in groupby(rows, key=lambda row: len(row[0])):
        steps, values = zip(*alike, strict=True)
        at = np.frombuffer(b"".join(steps), STEP)
        packed = np.frombuffer(b"".join(values), dtype).reshape(len(steps), width, size // STEP.itemsize)
        yield at, packed.swapaxes(0, 1).reshape(width, len(at))
