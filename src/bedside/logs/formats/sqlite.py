"""SQLite files of other tools, opened so that nothing is written and nothing waits for long.

A foreign database may be hostile or broken: it is opened read only, without extensions, and a query that takes
too many steps is stopped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from bedside.logs.formats.base import Unreadable

MAGIC = b"SQLite format 3\0"
PATIENCE = 5.0  # seconds to wait for a writer's lock
MOST_STEPS = 400  # times a million virtual machine steps: minutes of work, after which a query is stopped


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection; what SQLite complains about becomes Unreadable."""
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=PATIENCE)
    except sqlite3.Error as broken:
        raise Unreadable(f"SQLite cannot open it ({broken})") from None
    left = MOST_STEPS

    def count() -> int:
        nonlocal left
        left -= 1
        return left < 0

    try:
        connection.set_progress_handler(count, 1_000_000)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        yield connection
    except (sqlite3.Error, OverflowError, UnicodeError) as broken:  # its complaints quote what they complain about
        raise Unreadable(f"SQLite cannot read it ({broken})") from None
    except MemoryError:  # of a length that only a broken page can claim; SQLite gives up before anything is taken
        raise Unreadable("SQLite cannot read it (it claims more than fits in memory)") from None
    finally:
        connection.close()


def tables_of(path: Path) -> set[str]:
    with reading(path) as connection:
        return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
