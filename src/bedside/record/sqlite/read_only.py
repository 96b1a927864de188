"""Opening a run file to read it and nothing else, wherever it lies.

A file that is being written, or whose writer was killed, has a write-ahead log beside it. SQLite reads the two
together, but wants to put a small index file next to them. Where it may not (a read-only folder), a finished
file is opened as immutable, and one with a log is copied to a temporary folder first. A file of an older format
is upgraded in a private copy; the original stays as it is. Whatever the file holds, `query_limits.py` limits what
reading it may cost.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from urllib.parse import quote

from bedside.record.sqlite.blocks import size_of
from bedside.record.sqlite.migrations import FORMAT_VERSION, TABLES, upgrade, version_of
from bedside.record.sqlite.query_limits import limit, require_plain_files, require_plain_tables
from bedside.record.sqlite.run_folder import damaged
from bedside.record.sqlite.schema import rows_table

MAX_BYTES_TO_COPY = 2**30  # bytes: what is copied to upgrade it, or because its folder may not be written to
WAIT = 5.0  # seconds: a writer without a write-ahead log locks its file for the length of a commit


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection to a run file in the current format that cannot change it."""
    connection = _opened(path)
    try:
        version = version_of(connection, path)
        require_plain_tables(connection, TABLES[version])
        sets = connection.execute("SELECT id FROM metric_sets").fetchall()
        require_plain_tables(connection, [rows_table(set_id) for (set_id,) in sets])
        if version < FORMAT_VERSION:
            connection = _private_copy(connection)
            upgrade(connection, version)
    except (sqlite3.Error, ValueError, TypeError, OverflowError, MemoryError) as torn:
        connection.close()
        raise damaged(path, torn) from torn
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    try:
        require_plain_files(path)
    except ValueError as refused:
        raise damaged(path, refused) from refused
    log = path.with_name(path.name + "-wal")
    has_log = log.exists() and log.stat().st_size > 0
    if not has_log and not path.stat().st_size:
        raise damaged(path, "it is empty")
    try:
        return _connect(path, "mode=ro")
    except UnicodeDecodeError as refused:  # SQLite's complaint quotes the damaged bytes
        raise damaged(path, refused) from refused
    except sqlite3.Error as refused:
        if refused.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise damaged(path, refused) from refused
    try:
        if not has_log:
            return _connect(path, "mode=ro&immutable=1")
        with tempfile.TemporaryDirectory(prefix="bedside-") as folder:
            if path.stat().st_size + log.stat().st_size > MAX_BYTES_TO_COPY:
                raise ValueError("it is too large to copy, and its folder may not be written to")
            for each in (path, log):
                shutil.copyfile(each, Path(folder) / each.name)
            return _private_copy(_connect(Path(folder) / path.name, "mode=rw"))
    except (OSError, ValueError, sqlite3.Error) as refused:
        raise damaged(path, refused) from refused


def _connect(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?{how}",
        uri=True,
        timeout=WAIT,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        limit(connection)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # the file is only looked at now
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _private_copy(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The whole file in a temporary database that vanishes with its connection."""
    if size_of(connection) > MAX_BYTES_TO_COPY:
        raise ValueError("it is of an older format, and too large to upgrade in a copy")
    copy = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    limit(copy)
    connection.backup(copy)
    connection.close()
    return copy
