"""Series out of a run file, only those that were asked for: blocks are cut in SQLite and decoded in numpy."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bedside.record.joined_series import joined
from bedside.record.missing import is_missing, unpack
from bedside.record.run import Key
from bedside.record.series import Series, Steps, Values
from bedside.record.sqlite.blocks import Packed, cut, last_key
from bedside.record.sqlite.plain_json import from_text
from bedside.record.sqlite.query_limits import limit_steps
from bedside.record.sqlite.run_folder import damaged
from bedside.record.sqlite.run_segments import Segment, last_sign
from bedside.record.sqlite.schema import DTYPES, SEGMENT, as_columns, rows_table

MAX_NAMES = 2**26  # characters of all column names together: a million of them
MAX_LOGGED_NAMES = 500_000  # names that were logged now and then
ROWS = 10_000  # single values fetched at a time
BROKEN = (sqlite3.Error, ValueError, TypeError, OverflowError, MemoryError)


@dataclass(frozen=True)
class MetricSet:
    """The steps of one metric set that belong to the run as it was when the file was opened."""

    table: str
    dtype: np.dtype[Any]
    columns: tuple[Key, ...]
    seen: bytes  # 1 for each column that has had a reading
    ranges: tuple[tuple[int, int], ...]  # of row keys, one per segment

    def pieces(self, connection: sqlite3.Connection, first: int, width: int) -> Iterator[tuple[Steps, Packed]]:
        """Steps and (width, steps) packed values, a chunk at a time, of the columns from `first` on."""
        for low, high in self.ranges:
            yield from cut(connection, self.table, self.dtype, low, high, first, width)


class Loader:
    """Fetches series when a Run asks for them; holds the connection as long as the Run is alive."""

    def __init__(self, path: Path, connection: sqlite3.Connection, segments: Sequence[Segment], since: int = 0) -> None:
        self._path = path
        self._connection = connection
        self._since = since  # earlier steps are not shown
        self.last = last_sign(connection, segments)
        self.resumed_at = segments[-1].first if len(segments) > 1 else None
        weakref.finalize(self, connection.close)
        self._refuse_too_many_names()
        self.sets = [
            MetricSet(
                rows_table(set_id),
                np.dtype(f"<{DTYPES[DTYPES.index(dtype)]}"),
                as_columns(from_text(columns)),
                seen,
                tuple(self._shown(rows_table(set_id), segments)),
            )
            for set_id, dtype, columns, seen in connection.execute(
                "SELECT id, dtype, columns, seen FROM metric_sets ORDER BY id"
            ).fetchall()
        ]
        sparse = connection.execute("SELECT id, vital, owner FROM sparse_keys ORDER BY id").fetchall()
        self.sparse: dict[Key, int] = {(vital, owner): key for key, vital, owner in sparse}
        self._sparse_ranges = [
            (each.range[0] + since, min(each.range[1], each.range[0] + each.last)) for each in segments
        ]
        dense = [key for each in self.sets for key, seen in zip(each.columns, each.seen, strict=True) if seen]
        self.keys: list[Key] = list(dict.fromkeys([*dense, *self.sparse]))

    def _refuse_too_many_names(self) -> None:
        (length,) = self._connection.execute("SELECT sum(length(columns)) FROM metric_sets").fetchone()
        (logged,) = self._connection.execute("SELECT count(*) FROM sparse_keys").fetchone()
        if (length or 0) > MAX_NAMES or logged > MAX_LOGGED_NAMES:
            raise ValueError("it has more names than any run has")

    def _shown(self, table: str, segments: Sequence[Segment]) -> Iterator[tuple[int, int]]:
        for low, high in (segment.range for segment in segments):
            newest = last_key(self._connection, table, low, high)
            if newest is not None and newest >= low + self._since:
                yield self._block_of(table, low), min(high, newest)

    def _block_of(self, table: str, low: int) -> int:
        """The row key of the block that holds the first step to be shown, of the segment that begins at `low`."""
        if not self._since:
            return low
        query = f"SELECT max(at) FROM {table} WHERE at BETWEEN ? AND ?"
        (block,) = self._connection.execute(query, (low, low + self._since)).fetchone()
        return low if block is None else int(block)

    def __call__(self, keys: Sequence[Key]) -> Iterable[Series]:
        parts: dict[Key, list[tuple[Steps, Values]]] = {key: [] for key in keys}
        limit_steps(self._connection)
        try:
            for each in self.sets:
                self._dense(each, set(keys), parts)
            for key in keys:
                if key in self.sparse:
                    parts[key] += self._sparse_parts(self.sparse[key])
            found = [Series(vital, owner, *joined(parts[vital, owner])) for vital, owner in keys]
            return [each.since(self._since) for each in found] if self._since else found
        except BROKEN as torn:
            raise damaged(self._path, torn) from torn

    def batches(self) -> Iterator[tuple[tuple[Key, ...], Steps, Values]]:
        """Everything that lies in metric sets, as it was written: (columns, steps, values), a chunk at a time."""
        for each in self.sets:
            for steps, packed in each.pieces(self._connection, 0, len(each.columns)):
                yield each.columns, steps, unpack(packed).T

    def _dense(self, metrics: MetricSet, wanted: set[Key], parts: dict[Key, list[tuple[Steps, Values]]]) -> None:
        place = {key: i for i, key in enumerate(metrics.columns) if key in wanted}
        if not place:
            return
        columns = np.array(list(place.values()))
        first, width = int(columns.min()), int(np.ptp(columns)) + 1
        rows = metrics.pieces(self._connection, first, width)
        pieces = [(steps, packed[columns - first]) for steps, packed in rows]
        steps = np.concatenate([steps for steps, _ in pieces]) if pieces else np.empty(0, np.int64)
        values = np.empty((len(columns), len(steps)))  # a series is contiguous
        start = 0
        for _, packed in pieces:
            stop = start + packed.shape[1]
            values[:, start:stop] = unpack(packed)
            start = stop
        for key, readings in zip(place, values, strict=True):
            gap = is_missing(readings)
            parts[key].append((steps[~gap], readings[~gap]) if gap.any() else (steps, readings))

    def _sparse_parts(self, key: int) -> Iterator[tuple[Steps, Values]]:
        for low, high in self._sparse_ranges:
            rows = self._connection.execute(
                "SELECT at, value FROM sparse WHERE key = ? AND at BETWEEN ? AND ? ORDER BY at", (key, low, high)
            )
            while some := rows.fetchmany(ROWS):
                steps = np.array([at for at, _ in some], np.int64) % SEGMENT
                yield steps, np.array([np.nan if value is None else value for _, value in some], np.float64)
