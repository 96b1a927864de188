"""SQLite files of other tools, opened so that nothing is written and nothing waits for long.

A foreign database may be hostile or broken: it is opened read only, without extensions, and behind the fences that
records of our own have as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from bedside.logs.formats.log_format import Unreadable
from bedside.record.sqlite.query_limits import limit, require_plain_files, require_plain_tables

MAGIC = b"SQLite format 3\0"
MAX_TABLES = 1000  # tools have a few dozen
PATIENCE = 5.0  # seconds to wait for a writer's lock


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection; what SQLite complains about becomes Unreadable."""
    try:
        require_plain_files(path)
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=PATIENCE)
    except (sqlite3.Error, ValueError) as broken:
        raise Unreadable(f"SQLite cannot open it ({broken})") from None
    try:
        limit(connection)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        yield connection
    except (sqlite3.Error, OverflowError, UnicodeError) as broken:  # its complaints quote what they complain about
        raise Unreadable(f"SQLite cannot read it ({broken})") from None
    except MemoryError:  # of a length that only a broken page can claim; SQLite gives up before anything is taken
        raise Unreadable("SQLite cannot read it (it claims more than fits in memory)") from None
    finally:
        connection.close()


def tables_of(path: Path) -> set[str]:
    """The plain tables: a view or a computed column may take for ever to read."""
    with reading(path) as connection:
        names = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name for name in names[:MAX_TABLES] if _is_plain(connection, name)}


def _is_plain(connection: sqlite3.Connection, name: str) -> bool:
    try:
        require_plain_tables(connection, [name])
    except ValueError:
        return False
    return True
