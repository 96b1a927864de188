"""Limits on what a database that somebody sent may make us do: run for hours, or fill the memory.

SQLite runs whatever a schema holds: a view may count for ever, a generated column may make a gigabyte out of nothing.
So only plain tables are read, a cell may be only so long, and a question may take only so many steps. These hold for
other tools' databases and for records of our own alike: both come from strangers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

MAX_CELL_BYTES = 2**26  # bytes: a block of a record has 2**22 of values, and the names of its columns a few million
STEPS_AT_A_TIME = 1_000_000  # virtual machine steps after which SQLite asks whether to go on: about ten milliseconds
MAX_STEPS = 400  # times a million, for one question: seconds of work, and more rows than any log has


def limit(connection: sqlite3.Connection) -> None:
    """Put the limits on a connection that was just opened."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    limit_steps(connection)


def require_plain_files(path: Path) -> None:
    """SQLite opens its own files beside a database by their names: a pipe or a link in their place is refused."""
    for suffix in ("-wal", "-shm", "-journal"):
        beside = path.with_name(path.name + suffix)
        if beside.is_symlink() or (beside.exists() and not beside.is_file()):
            raise ValueError(f"{beside.name} beside it is not a plain file")


def limit_steps(connection: sqlite3.Connection) -> None:
    """From here on so many steps, and no more: where a connection stays open, each question has its own."""
    left = MAX_STEPS

    def enough() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(enough, STEPS_AT_A_TIME)


def require_plain_tables(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Refuse views, virtual tables and columns that are computed when they are read; ValueError says which."""
    for name in names:
        found = connection.execute("SELECT type, rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        if found is None:
            raise ValueError(f"it has no table {name}")
        if found[0] != "table" or not found[1]:
            raise ValueError(f"{name} is not a plain table")
        if any(hidden for *_, hidden in connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,))):
            raise ValueError(f"{name} has computed columns")
