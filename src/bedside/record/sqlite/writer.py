"""The writer of a run: one SQLite file per rank, appended to as training goes, safe to kill at any moment.

What was committed is on disk. Whoever writes rows asks for a commit afterwards, which comes about twice a second, and
at once for events and findings, so `kill -9` loses at most one second of writing. Readers in other processes see every
commit and disturb nobody.

Once the file is there, nothing here raises for the disk's sake: all writing is done in `commit`, which says once that
it failed, keeps what it could not write (`unsaved.py`), and tries again later.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bedside.record.joined_series import end_to_end
from bedside.record.missing import is_missing, pack
from bedside.record.run import Event, Key, Parameter
from bedside.record.secrets import without_secrets
from bedside.record.series import Steps, Values
from bedside.record.sqlite.blocks import MAX_BYTES_IN_A_BLOCK, STEP, TIME, Packed, insert, take_back
from bedside.record.sqlite.plain_json import from_text, to_text
from bedside.record.sqlite.run_folder import is_busy, new_file, resumed_file
from bedside.record.sqlite.run_segments import last_step, segments_of
from bedside.record.sqlite.schema import DTYPES, PARAMETER, as_columns, create_rows_table, key_of
from bedside.record.sqlite.unsaved import Apply, Unsaved
from bedside.stderr import warn_safely

if TYPE_CHECKING:
    from bedside.finding import Finding

Method = TypeVar("Method", bound=Callable[..., Any])

COMMIT_EVERY = 0.5  # seconds: with a flush's own 0.2, a crash costs less than one; a commit takes about 0.1 ms
RETRY_FIRST, RETRY_LAST = (
    1.0,
    30.0,
)  # seconds between attempts after a failure, doubling: a slow disk must not slow steps
BUSY_AT_CLOSE = 5000  # milliseconds that the last commit may wait for a reader

# What a value may be refused for.
NOT_THE_DISK = (
    *(sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.DataError),
    *(ValueError, TypeError, OverflowError),
)

_UPSERT_PARAMETER = (
    f"INSERT INTO parameters ({', '.join(PARAMETER)}) VALUES ({', '.join('?' * len(PARAMETER))}) "
    f"ON CONFLICT (name) DO UPDATE SET {', '.join(f'{each} = excluded.{each}' for each in PARAMETER)}"
)


class _MetricSet:
    """One table of blocks: how far it has come, which columns have had a reading, and what is still unwritten."""

    def __init__(self, set_id: int, width: int, dtype: str, seen: bytes) -> None:
        self.id = set_id
        self.width = width
        self.dtype = dtype
        self.seen = np.frombuffer(seen, np.uint8).astype(bool)
        self.all_seen = all(seen)
        self.newest = -1  # the last step of this segment
        self.in_order = True  # what waits increases, and comes after all that was written
        # Steps, times and values that wait for the next commit, to be one block; added together, so that an interrupt
        # leaves no steps without their values.
        self.waiting: list[tuple[Steps, Values, NDArray[np.float64]]] = []
        self.waiting_bytes = 0


def _one_at_a_time(method: Method) -> Method:
    """The program may log in another thread than the one that trains."""

    @functools.wraps(method)
    def alone(self: Store, *args: Any, **kwargs: Any) -> Any:
        if os.getpid() != self._pid:  # does nothing there, where a lock may be held by a thread that is not
            return method(self, *args, **kwargs)
        with self._lock:
            return method(self, *args, **kwargs)

    return alone  # type: ignore[return-value]


class Store:
    """Writes one rank's file, for one thread at a time. In a forked child every method does nothing."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Use `Store.create` or `Store.resume`."""
        self.path = path
        self._connection = connection
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        self._inode = _inode(path)
        self._unsaved = Unsaved()
        self._failing: Exception | None = None  # why the last commit failed
        self._warned = False
        self._retry, self._retry_after = 0.0, RETRY_FIRST
        self.displaced = False  # another file, or none, is where ours was: it was moved or deleted
        self._hold()
        segments = segments_of(connection)
        self.segment = segments[-1].number + 1 if segments else 0
        self.last_step = last_step(segments)
        self._reached = -1
        self._write("INSERT INTO segments (segment, started) VALUES (?, ?)", (self.segment, time.time()))
        self._sets: dict[int, _MetricSet] = {}
        self._set_ids: dict[tuple[str, str, tuple[Key, ...]], int] = {}
        for set_id, name, dtype, columns, seen in connection.execute(
            "SELECT id, name, dtype, columns, seen FROM metric_sets"
        ):
            keys = as_columns(from_text(columns))
            self._sets[set_id] = _MetricSet(set_id, len(keys), dtype, seen)
            self._set_ids[name, dtype, keys] = set_id
        self._sparse_ids: dict[Key, int] = {
            (vital, owner): key for key, vital, owner in connection.execute("SELECT id, vital, owner FROM sparse_keys")
        }
        self.commit()

    @classmethod
    def create(cls, run_dir: Path, rank: int = 0) -> Store:
        """Start a run in a new or empty folder."""
        return cls(*new_file(Path(run_dir), rank))

    @classmethod
    def resume(cls, run_dir: Path, rank: int = 0) -> Store:
        """Continue a run on the same step axis, in a new segment; `last_step` is where it had come to."""
        return cls(*resumed_file(Path(run_dir), rank))

    @_one_at_a_time
    def declare(self, name: str, columns: Sequence[Key], dtype: str = "f4") -> int:
        """The id of a metric set; the same name with other columns is a new version of the set."""
        if not self._usable():
            return -1
        keys = tuple(columns)
        known = self._set_ids.get((name, dtype, keys))
        if known is not None:
            return known
        if dtype not in DTYPES:
            raise ValueError(f"dtype is one of {', '.join(DTYPES)}, got {dtype!r}")
        set_id = max(self._sets, default=0) + 1
        seen = bytes(len(keys))
        self._write("INSERT INTO metric_sets VALUES (?, ?, ?, ?, ?)", (set_id, name, dtype, to_text(keys), seen))
        self._write(create_rows_table(set_id))
        self._sets[set_id] = _MetricSet(set_id, len(keys), dtype, seen)
        self._set_ids[name, dtype, keys] = set_id
        return set_id

    @_one_at_a_time
    def rows(
        self, set_id: int, steps: Sequence[int] | Steps, times: Sequence[float] | Values, values: NDArray[np.float64]
    ) -> None:
        """Append one row a step; `values` is (steps, columns), with MISSING where nothing was read.

        They are written with the next commit, until which nobody may change them. That commit is asked for when all
        tables of these steps have their rows: otherwise the rest of them would wait for the one after it.
        """
        if not self._usable() or not len(steps):
            return
        table = self._sets[set_id]
        at, when, values = np.asarray(steps, STEP), np.asarray(times, TIME), np.asarray(values, np.float64)
        if values.shape != (len(at), table.width) or len(when) != len(at):
            raise ValueError(f"expected {len(at)} rows of {table.width} values, got an array of {values.shape}")
        increasing = len(at) == 1 or bool((at[1:] > at[:-1]).all())
        first, last = (int(at[0]), int(at[-1])) if increasing else (int(at.min()), int(at.max()))
        for step in (first, last):
            key_of(self.segment, step)  # refuses what is not a step
        table.in_order &= increasing and first > table.newest
        table.newest = max(table.newest, last)
        table.waiting.append((at, when, values))
        table.waiting_bytes += values.nbytes
        if table.waiting_bytes >= MAX_BYTES_IN_A_BLOCK:
            self._gather_block(table)
        self._reached = max(self._reached, last)
        self.last_step = self._reached  # of this branch: a run resumed from an earlier checkpoint goes back

    @_one_at_a_time
    def metric(self, step: int, vital: str, value: float, owner: str = "") -> None:
        """One value that comes now and then: validation, whatever the user logs; the last one of a step counts."""
        if not self._usable() or is_missing(np.float64(value).reshape(1))[0]:
            return
        key = self._sparse_ids.get((vital, owner))
        if key is None:
            key = self._sparse_ids[vital, owner] = len(self._sparse_ids) + 1
            self._write("INSERT INTO sparse_keys VALUES (?, ?, ?)", (key, vital, owner))
        row = (key, key_of(self.segment, step), float(value))
        self._write("INSERT OR REPLACE INTO sparse VALUES (?, ?, ?)", row, step=int(step))
        self.last_step = max(self.last_step, int(step))
        self.commit_if_due()

    @_one_at_a_time
    def event(self, event: Event) -> None:
        if self._usable():
            row = (self.segment, int(event.step), event.kind, to_text(event.data), event.time or time.time())
            self._write("INSERT INTO events (segment, step, kind, data, time) VALUES (?, ?, ?, ?, ?)", row, step=row[1])
            self.commit()

    @_one_at_a_time
    def finding(self, step: int, finding: Finding) -> None:
        """What was alarmed live, and when: readers get it back as an event of kind `alarm`."""
        if self._usable():
            row = (self.segment, int(step), to_text(asdict(finding)), time.time())
            self._write("INSERT INTO findings (segment, step, finding, time) VALUES (?, ?, ?, ?)", row, step=row[1])
            self.commit()

    @_one_at_a_time
    def parameters(self, parameters: Sequence[Parameter]) -> None:
        """The model's parameters as they are known now; one that was known by name before is replaced."""
        if self._usable():
            self._write_many(_UPSERT_PARAMETER, [_bindable(each) for each in parameters])

    def config(self, values: Mapping[str, Any]) -> None:
        self._facts("config", without_secrets(values))

    def environment(self, values: Mapping[str, Any]) -> None:
        self._facts("environment", values)

    @property
    def behind(self) -> bool:
        """Whether the file lacks something that was written, because the last commit failed."""
        return self._failing is not None

    @_one_at_a_time
    def commit(self) -> None:
        """Make everything written so far safe and visible to readers."""
        if self._usable():
            self._committed = time.monotonic()
            self._gather()
            if self._failing is not None and self._committed < self._retry:
                self._unsaved.trim()
                return
            self._try_to_commit()
            self._hold()

    def commit_if_due(self) -> None:
        """Commit if the last one is half a second old; `metric` does this by itself."""
        if time.monotonic() - self._committed >= COMMIT_EVERY:
            self.commit()

    @_one_at_a_time
    def close(self, finished: bool | None = None) -> None:
        """Commit and let go of the file; True says that the run ended by itself, False that it failed."""
        if self._closed or os.getpid() != self._pid:
            return
        self._gather()
        done = None if finished is None else int(finished)
        self._write("UPDATE segments SET ended = ?, finished = ? WHERE segment = ?", (time.time(), done, self.segment))
        with suppress(sqlite3.Error):
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_AT_CLOSE}")
        self._try_to_commit()
        self._closed = True
        # What fails here leaves the log beside the file, which readers understand as well: somebody is reading, or
        # there is no room to bring the two together.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._connection.execute("PRAGMA journal_mode = DELETE").fetchall()  # one plain file, easy to copy
        with suppress(sqlite3.Error):
            self._connection.close()

    def discard(self) -> None:
        """Leave nothing behind of a run that never began: neither the file, nor the folder if it was the only one."""
        self.close()
        with suppress(OSError):
            self.path.unlink()
            self.path.parent.rmdir()

    def _try_to_commit(self) -> None:
        try:
            self._begin()
            self._note_dropped()
            for change in self._unsaved:
                _applied(change.apply, self._connection)
            self._connection.execute("COMMIT")
        except sqlite3.Error as refused:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            self._not_written(refused)
            return
        self._unsaved.saved()
        self._failing, self._retry_after = None, RETRY_FIRST
        if not self.displaced and _inode(self.path) != self._inode:
            self.displaced = True
            self._warn(f"{self.path} was moved or deleted while it was written; it goes on where it was moved to")

    def _not_written(self, refused: sqlite3.Error) -> None:
        self._unsaved.trim()
        if is_busy(refused):
            return  # a reader was in the way (rollback journal only): the next commit takes this one along
        self._failing = refused
        self._retry = time.monotonic() + self._retry_after
        self._retry_after = min(2 * self._retry_after, RETRY_LAST)
        self._warn(f"{self.path} cannot be written ({refused}); numbers are kept in memory until there is room again")

    def _warn(self, what: str) -> None:
        """One warning, however often it fails: the training is what counts."""
        if not self._warned:
            self._warned = True
            warn_safely(f"bedside: {what}. Training goes on.", stacklevel=3)

    def _note_dropped(self) -> None:
        """The record says by itself which of its steps are missing."""
        if self._unsaved.dropped is None:
            return
        first, last = self._unsaved.dropped
        data = to_text({"first": first, "last": last, "why": str(self._failing)})
        self._connection.execute(
            "INSERT INTO events (segment, step, kind, data, time) VALUES (?, ?, ?, ?, ?)",
            (self.segment, first, "not_recorded", data, time.time()),
        )

    @_one_at_a_time
    def _facts(self, table: str, values: Mapping[str, Any]) -> None:
        if self._usable():
            rows = [(self.segment, str(key), to_text(value)) for key, value in values.items()]
            self._write_many(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", rows)

    def _gather(self) -> None:
        for table in self._sets.values():
            if table.waiting:
                self._gather_block(table)

    def _gather_block(self, table: _MetricSet) -> None:
        """What waits of a table becomes one change."""
        steps, times, values = map(end_to_end, zip(*table.waiting, strict=True))
        in_order = table.in_order
        table.waiting, table.waiting_bytes, table.in_order = [], 0, True
        packed = pack(values.T, table.dtype)
        reach = (int(steps.min()), int(steps.max()))

        def apply(connection: sqlite3.Connection) -> None:
            rows = (steps, times, packed) if in_order else self._among_the_written(table, steps, times, packed)
            insert(connection, table.id, self.segment, *rows)

        self._unsaved.add(apply, packed.nbytes + steps.nbytes + times.nbytes, reach)
        self._note_seen(table, values)

    def _among_the_written(
        self, table: _MetricSet, steps: Steps, times: Values, packed: Packed
    ) -> tuple[Steps, Values, Packed]:
        """In the order of their steps, together with what was written from the first of them on; the last of a
        step counts."""
        old = take_back(self._connection, table.id, self.segment, int(steps.min()), packed.dtype, table.width)
        steps, times = np.concatenate([old[0], steps]), np.concatenate([old[1], times])
        # The last of each step is the first from behind.
        kept, places = np.unique(steps[::-1], return_index=True)
        newest = len(steps) - 1 - places
        return kept, times[newest], np.concatenate([old[2], packed], axis=1)[:, newest]

    def _note_seen(self, table: _MetricSet, values: NDArray[np.float64]) -> None:
        """A column that never had a reading is not a series: rules should say what they need, not see nothing."""
        if table.all_seen:
            return
        seen = table.seen | ~is_missing(values).all(axis=0)
        if (seen != table.seen).any():
            table.seen, table.all_seen = seen, bool(seen.all())
            blob = seen.astype(np.uint8).tobytes()
            self._write("UPDATE metric_sets SET seen = ? WHERE id = ?", (blob, table.id))

    def _write(self, statement: str, row: Sequence[Any] = (), *, step: int | None = None) -> None:
        """Note a change for the next commit; one that belongs to a step may be dropped when memory runs out."""
        values = [_encodable(value) for value in row]
        size = sum(len(value) for value in values if isinstance(value, (str, bytes)))
        self._unsaved.add(
            lambda connection: connection.execute(statement, values), size, None if step is None else (step, step)
        )

    def _write_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        values = [[_encodable(value) for value in row] for row in rows]
        size = sum(len(value) for row in values for value in row if isinstance(value, (str, bytes)))
        self._unsaved.add(lambda connection: connection.executemany(statement, values), size)

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def _hold(self) -> None:
        """There is always an open transaction, which costs nothing and keeps a second writer out of the file."""
        with suppress(sqlite3.Error):
            self._begin()

    def _usable(self) -> bool:
        if os.getpid() != self._pid:
            return False  # a forked child (a DataLoader worker) must never touch its parent's connection
        if self._closed:
            raise ValueError(f"the record {self.path} is closed")
        return True


def _bindable(parameter: Parameter) -> list[str | int]:
    values = [getattr(parameter, each) for each in PARAMETER]
    return [value if isinstance(value, str) else int(value) for value in values]  # SQLite knows no numpy integers


def _encodable(value: Any) -> Any:
    """Text that UTF-8 cannot hold (half a surrogate pair, from a file name) with a question mark in its place."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _applied(apply: Apply, connection: sqlite3.Connection) -> None:
    """A value that SQLite cannot hold must not keep all later ones from being written; trouble with the disk is
    raised."""
    with suppress(*NOT_THE_DISK):
        apply(connection)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
