"""A recorded run, read back: while it is written, after a crash, from a copy, from a folder one may not write to.

Opening reads what is small (names, events, parameters); a series is fetched when it is asked for, and then only
its own metric set is touched. A Run shows the moment at which it was opened, however the file grows.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.errors import BedsideError, NoSuchPath, NotARun
from bedside.record.folder import damaged
from bedside.record.join import joined
from bedside.record.layout import (
    APPLICATION_ID,
    HEADER,
    PARAMETER,
    RANK_FILE,
    SEGMENT,
    as_columns,
    rank_file,
    ranks_in,
    rows_table,
)
from bedside.record.missing import is_missing, unpack
from bedside.record.opening import open_to_read
from bedside.record.plain import from_text
from bedside.record.run import Event, Key, Parameter, Run
from bedside.record.segments import Segment, resumes, segments_of
from bedside.record.series import Series, Steps, Values

CHUNK = 4096  # rows decoded at a time, so that memory is what was asked for and not what was read past


def is_run(path: Path) -> bool:
    """Whether this is a run of bedside's own: a folder with rank files, or one of the files."""
    path = Path(path)
    if path.is_dir():
        return bool(ranks_in(path))
    if not path.is_file():
        return False
    if RANK_FILE.fullmatch(path.name):
        return True  # ours by name: if it is torn, the reader says so
    with path.open("rb") as file:
        head = file.read(72)
    return head.startswith(HEADER) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def open_run(run_dir: Path, rank: int = 0) -> Run:
    """The run in a folder (or in one rank's file), as far as it has come."""
    path = _file_of(Path(run_dir), rank)
    connection = open_to_read(path)
    try:
        connection.execute("BEGIN")  # everything below is one moment of the run
        run = _assembled(str(run_dir), path, connection)
        connection.execute("COMMIT")
        return run
    except BedsideError:
        connection.close()
        raise
    except (sqlite3.Error, ValueError, TypeError, KeyError) as torn:
        connection.close()
        raise damaged(path, torn) from torn


def _file_of(run_dir: Path, rank: int) -> Path:
    if run_dir.is_file():
        return run_dir
    if not run_dir.exists():
        raise NoSuchPath(
            f"There is no '{run_dir}'.",
            expected="a run folder that bedside.watch() wrote",
            try_=f"ls '{run_dir.parent}'",
        )
    path = rank_file(run_dir, rank)
    if not path.is_file():
        ranks = ranks_in(run_dir)
        raise NotARun(
            f"'{run_dir}' holds no run of rank {rank}.",
            expected=f"rank {', '.join(map(str, ranks))}" if ranks else "a folder with rank0.sqlite in it",
            try_=f"bedside diagnose '{rank_file(run_dir, ranks[0])}'" if ranks else f"ls '{run_dir}'",
        )
    return path


def _assembled(name: str, path: Path, connection: sqlite3.Connection) -> Run:
    segments = segments_of(connection)
    loader = _Loader(path, connection, segments)
    events = _rows_shown(segments, connection, "SELECT segment, step, kind, data, time FROM events ORDER BY id")
    alarms = _rows_shown(segments, connection, "SELECT segment, step, 'alarm', finding, time FROM findings ORDER BY id")
    resumed = resumes(segments)
    return Run(
        name,
        keys=loader.keys,
        load=loader,
        events=sorted([*events, *alarms, *(event for event, _ in resumed)], key=lambda event: event.step),
        parameters=_parameters(connection),
        config=_facts(connection, "config"),
        environment=_facts(connection, "environment"),
        notes=[note for _, note in resumed],
        finished=segments[-1].finished if segments else None,
    )


def _rows_shown(segments: Sequence[Segment], connection: sqlite3.Connection, query: str) -> list[Event]:
    """Events of the branches that were not abandoned."""
    ends = {segment.number: segment.end for segment in segments}
    return [
        Event(step, kind, from_text(data), time)
        for segment, step, kind, data, time in connection.execute(query)
        if step < ends.get(segment, SEGMENT)
    ]


def _parameters(connection: sqlite3.Connection) -> list[Parameter]:
    rows = connection.execute(f"SELECT {', '.join(PARAMETER)} FROM parameters ORDER BY id")
    found = [dict(zip(PARAMETER, row, strict=True)) for row in rows]
    yes_or_no = ("trainable", "in_optimizer")  # SQLite keeps them as 0 and 1
    return [Parameter(**each | {name: bool(each[name]) for name in yes_or_no}) for each in found]


def _facts(connection: sqlite3.Connection, table: str) -> dict[str, Any]:
    """What was said last wins: a resume may have changed the learning rate or the machine."""
    rows = connection.execute(f"SELECT key, value FROM {table} ORDER BY segment, rowid")
    return {key: from_text(value) for key, value in rows}


class _Loader:
    """Fetches series when a Run asks for them; holds the connection as long as the Run is alive."""

    def __init__(self, path: Path, connection: sqlite3.Connection, segments: Sequence[Segment]) -> None:
        self._path = path
        self._connection = connection
        weakref.finalize(self, connection.close)
        self._sets: list[tuple[int, str, dict[Key, int]]] = []
        self._ranges: dict[str, list[tuple[int, int]]] = {}
        keys: dict[Key, None] = {}
        for set_id, dtype, columns, seen in connection.execute(
            "SELECT id, dtype, columns, seen FROM metric_sets ORDER BY id"
        ).fetchall():
            place = {key: i for i, key in enumerate(as_columns(from_text(columns))) if seen[i]}
            keys |= dict.fromkeys(place)
            self._sets.append((set_id, dtype, place))
            self._ranges[rows_table(set_id)] = self._shown(rows_table(set_id), segments)
        sparse = connection.execute("SELECT id, vital, owner FROM sparse_keys ORDER BY id").fetchall()
        self._sparse: dict[Key, int] = {(vital, owner): key for key, vital, owner in sparse}
        self._sparse_ranges = [(each.range[0], min(each.range[1], each.range[0] + each.last)) for each in segments]
        self.keys: list[Key] = list(keys | dict.fromkeys(self._sparse))

    def _shown(self, table: str, segments: Sequence[Segment]) -> list[tuple[int, int]]:
        """The ranges of row keys that belong to this moment of the run, one per segment."""
        (newest,) = self._connection.execute(f"SELECT max(at) FROM {table}").fetchone()
        ranges = [segment.range for segment in segments]
        return [(low, min(high, newest)) for low, high in ranges if newest is not None and low <= min(high, newest)]

    def __call__(self, keys: Sequence[Key]) -> Iterable[Series]:
        parts: dict[Key, list[tuple[Steps, Values]]] = {key: [] for key in keys}
        try:
            for set_id, dtype, place in self._sets:
                wanted = [key for key in keys if key in place]
                if wanted:
                    self._dense(set_id, dtype, {key: place[key] for key in wanted}, parts)
            for key in keys:
                if key in self._sparse:
                    parts[key] += self._sparse_parts(self._sparse[key])
        except (sqlite3.Error, ValueError) as torn:
            raise damaged(self._path, torn) from torn
        return [Series(vital, owner, *joined(parts[vital, owner])) for vital, owner in keys]

    def _dense(
        self, set_id: int, dtype: str, place: dict[Key, int], parts: dict[Key, list[tuple[Steps, Values]]]
    ) -> None:
        columns = np.array(list(place.values()))
        first, width = int(columns.min()), int(columns.max() - columns.min() + 1)
        size = int(dtype[1:])
        table = rows_table(set_id)
        for low, high in self._ranges[table]:
            cursor = self._connection.execute(
                f"SELECT at, substr(vals, ?, ?) FROM {table} WHERE at BETWEEN ? AND ? ORDER BY at",
                (first * size + 1, width * size, low, high),
            )
            steps, values = _decoded(cursor, np.dtype(f"<{dtype}"), width, columns - first)
            steps %= SEGMENT
            gaps = is_missing(values)
            for key, column, gap in zip(place, values, gaps, strict=True):
                parts[key].append((steps[~gap], column[~gap]) if gap.any() else (steps, column))

    def _sparse_parts(self, key: int) -> list[tuple[Steps, Values]]:
        parts = []
        for low, high in self._sparse_ranges:
            rows = self._connection.execute(
                "SELECT at, value FROM sparse WHERE key = ? AND at BETWEEN ? AND ? ORDER BY at", (key, low, high)
            ).fetchall()
            steps = np.array([at % SEGMENT for at, _ in rows], np.int64)
            parts.append((steps, np.array([np.nan if value is None else value for _, value in rows], np.float64)))
        return parts


def _decoded(
    cursor: sqlite3.Cursor, dtype: np.dtype[Any], width: int, columns: NDArray[np.intp]
) -> tuple[Steps, Values]:
    """Row keys, and a (columns, rows) array in which each series is contiguous."""
    keys: list[Steps] = []
    pieces: list[NDArray[np.floating[Any]]] = []
    while rows := cursor.fetchmany(CHUNK):
        at, blobs = zip(*rows, strict=True)
        keys.append(np.array(at, np.int64))
        pieces.append(np.frombuffer(b"".join(blobs), dtype).reshape(len(rows), width)[:, columns])
    values = np.empty((len(columns), sum(map(len, keys))))
    start = 0
    for piece in pieces:
        values[:, start : start + len(piece)] = unpack(piece).T
        start += len(piece)
    return np.concatenate(keys) if keys else np.empty(0, np.int64), values
