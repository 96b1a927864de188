"""Which part of which segment is the run: a resume starts a new segment, and the later one wins.

A run resumed from an earlier checkpoint repeats steps. From the first step of the later segment on, what earlier
segments hold belongs to a branch that was abandoned: it stays on disk, and no reader shows it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from bedside.record.run import Event
from bedside.record.sqlite.blocks import last_key, last_time
from bedside.record.sqlite.schema import SEGMENT, rows_table

MAX_LOOKS = 2_000_000  # segments times series: seconds of look-ups, and far more than any run has


@dataclass(frozen=True)
class Segment:
    """The training between a start (or resume) and its end."""

    number: int
    started: float
    finished: bool | None  # None: nobody said how it ended, or it is still going
    ended: bool  # whether its record was closed; it was not if it was killed
    first: int  # the first and last steps that have rows; -1 if there are none
    last: int
    end: int = SEGMENT  # steps from here on were abandoned

    @property
    def range(self) -> tuple[int, int]:
        """The first and last row key that may be shown."""
        base = self.number * SEGMENT
        return base, base + self.end - 1


def segments_of(connection: sqlite3.Connection) -> list[Segment]:
    """All segments in order; a few look-ups in primary keys each, however long the run is."""
    tables = [rows_table(row[0]) for row in connection.execute("SELECT id FROM metric_sets ORDER BY id")]
    keys = [row[0] for row in connection.execute("SELECT id FROM sparse_keys")]
    found = []
    (count,) = connection.execute("SELECT count(*) FROM segments").fetchone()
    if count * (len(tables) + len(keys)) > MAX_LOOKS:
        raise ValueError(f"it claims to have been resumed {count - 1} times")
    for number, started, finished, ended in connection.execute(
        "SELECT segment, started, finished, ended IS NOT NULL FROM segments ORDER BY segment"
    ).fetchall():
        low, high = number * SEGMENT, (number + 1) * SEGMENT - 1
        spans = [_rows_span(connection, table, low, high) for table in tables]
        firsts = [first for first, _ in spans if first is not None]
        # An evaluation right after a resume is logged at the step before: it opens no branch if there are rows.
        spans += [_sparse_span(connection, key, low, high) for key in keys]
        firsts = firsts or [first for first, _ in spans if first is not None]
        lasts = [last for _, last in spans if last is not None]
        found.append(
            Segment(
                number,
                started,
                None if finished is None else bool(finished),
                bool(ended),
                first=min(firsts) - low if firsts else -1,
                last=max(lasts) - low if lasts else -1,
            )
        )
    return _cut(found)


def _rows_span(connection: sqlite3.Connection, table: str, low: int, high: int) -> tuple[int | None, int | None]:
    (first,) = connection.execute(f"SELECT min(at) FROM {table} WHERE at BETWEEN ? AND ?", (low, high)).fetchone()
    return first, last_key(connection, table, low, high)


def _sparse_span(connection: sqlite3.Connection, key: int, low: int, high: int) -> tuple[int | None, int | None]:
    # Two queries: SQLite answers min() and max() from the index only when each is alone.
    where = "FROM sparse WHERE key = ? AND at BETWEEN ? AND ?"
    (first,) = connection.execute(f"SELECT min(at) {where}", (key, low, high)).fetchone()
    (last,) = connection.execute(f"SELECT max(at) {where}", (key, low, high)).fetchone()
    return first, last


def _cut(segments: list[Segment]) -> list[Segment]:
    """End every segment where the first later one begins."""
    cut, end = [], SEGMENT
    for each in reversed(segments):
        cut.append(Segment(each.number, each.started, each.finished, each.ended, each.first, each.last, end))
        if each.first >= 0:
            end = min(end, each.first)
    return cut[::-1]


def last_step(segments: Sequence[Segment]) -> int:
    """The last step of the run as it is shown; -1 if it has none."""
    return max((min(each.last, each.end - 1) for each in segments), default=-1)


def last_sign(connection: sqlite3.Connection, segments: Sequence[Segment]) -> tuple[int, float, bool]:
    """The last step of the run, when it was written or the record closed, and whether it was closed."""
    if not segments:
        return -1, 0.0, False
    newest = segments[-1]
    (ended,) = connection.execute("SELECT ended FROM segments WHERE segment = ?", (newest.number,)).fetchone()
    times = [newest.started if ended is None else float(ended)]
    if ended is None:
        for (number,) in connection.execute("SELECT id FROM metric_sets ORDER BY id").fetchall():
            times.append(last_time(connection, rows_table(number), *newest.range))
    return last_step(segments), max(times), ended is not None


def resumes(segments: Sequence[Segment]) -> list[tuple[Event, str]]:
    """Every resume as an event, and what a reader should know about it in one sentence."""
    notes = []
    reached = segments[0].last if segments else -1
    for later in segments[1:]:
        if later.first < 0:
            continue
        note = f"Resumed at step {later.first}"
        if abandoned := max(0, reached + 1 - later.first):
            after = "1 step after it belongs" if abandoned == 1 else f"{abandoned} steps after it belong"
            note += f"; {after} to an abandoned branch"
        notes.append((Event(later.first, "resume", {"abandoned": abandoned}, later.started), note + "."))
        reached = max(min(reached, later.first - 1), later.last)
    return notes
