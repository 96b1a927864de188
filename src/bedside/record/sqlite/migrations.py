"""The format version of a run file, and the way from every older one to this.

A file says its version in SQLite's own `user_version`. Each upgrade turns one version into the next; resuming
applies them in place, in one transaction; reading applies them to a copy and leaves the file as it was.

| version | what was new |
|---|---|
| 1 | rows by step, events, findings, config, environment |
| 2 | segments, so that a resume overwrites nothing; the model's parameters |
| 3 | blocks: the steps that are written in one go are one row, column after column |
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import numpy as np

from bedside.errors import NotARun
from bedside.record.sqlite.blocks import STEP, TIME, insert
from bedside.record.sqlite.schema import APPLICATION_ID, SEGMENT, rows_table

FORMAT_VERSION = 3

# The tables of each version, besides those of the metric sets.
_SHARED = ("metric_sets", "sparse_keys", "sparse", "events", "findings", "config", "environment")
TABLES = {
    1: ("run", *_SHARED),
    2: ("segments", "parameters", *_SHARED),
    3: ("segments", "parameters", *_SHARED),
}


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The file's version; an error if it is not ours, or newer than this bedside."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise NotARun(
            f"'{path}' is an SQLite file, but bedside did not write it.",
            expected="a run folder that bedside.watch() wrote, or the rank0.sqlite in it",
            try_=f"bedside diagnose '{path.parent}'",
        )
    if version > FORMAT_VERSION:
        raise NotARun(
            f"'{path}' has format version {version}, written by a newer bedside.",
            expected=f"format version {FORMAT_VERSION} or older",
            try_="pip install -U bedside",
        )
    return int(version)


def stamp(connection: sqlite3.Connection, version: int = FORMAT_VERSION) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version:d}")


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file from `version` to the current one, all or nothing."""
    if version == FORMAT_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for old in range(version, FORMAT_VERSION):
            UPGRADES[old](connection)
        stamp(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _from_1_to_2(connection: sqlite3.Connection) -> None:
    """Version 1 had one segment without a number: all it holds becomes segment 0, whose row keys are the steps."""
    run = dict(connection.execute("SELECT key, value FROM run").fetchall())
    connection.execute(
        "CREATE TABLE segments (segment INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL, finished INTEGER)"
    )
    connection.execute(
        "INSERT INTO segments VALUES (0, ?, ?, ?)", (run.get("started", 0.0), run.get("ended"), run.get("finished"))
    )
    connection.execute("DROP TABLE run")
    for (set_id,) in connection.execute("SELECT id FROM metric_sets").fetchall():
        connection.execute(f"ALTER TABLE {rows_table(set_id)} RENAME COLUMN step TO at")
    connection.execute("ALTER TABLE sparse RENAME COLUMN step TO at")
    for table in ("events", "findings"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN segment INTEGER NOT NULL DEFAULT 0")
    for table in ("config", "environment"):  # their primary key changes, which SQLite can only do in a new table
        connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        connection.execute(
            f"CREATE TABLE {table} (segment INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
            "PRIMARY KEY (segment, key))"
        )
        connection.execute(f"INSERT INTO {table} SELECT 0, key, value FROM old_{table}")
        connection.execute(f"DROP TABLE old_{table}")
    connection.execute(
        "CREATE TABLE parameters (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, "
        "size INTEGER NOT NULL, dtype TEXT NOT NULL, trainable INTEGER NOT NULL, in_optimizer INTEGER NOT NULL, "
        "gradient_steps INTEGER NOT NULL, watched_steps INTEGER NOT NULL)"
    )


def _from_2_to_3(connection: sqlite3.Connection) -> None:
    """Version 2 had one row a step: (at, time, vals), the values of all columns beside each other."""
    for set_id, dtype in connection.execute("SELECT id, dtype FROM metric_sets").fetchall():
        table = rows_table(set_id)
        connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        connection.execute(
            f"CREATE TABLE {table} "
            "(at INTEGER PRIMARY KEY, steps BLOB NOT NULL, times BLOB NOT NULL, vals BLOB NOT NULL)"
        )
        old = connection.execute(f"SELECT at, time, vals FROM old_{table} ORDER BY at")
        while rows := old.fetchmany(1000):
            for segment, together in groupby(rows, key=lambda row: row[0] // SEGMENT):
                at, times, values = zip(*together, strict=True)
                packed = np.frombuffer(b"".join(values), f"<{dtype}").reshape(len(at), -1)
                insert(connection, set_id, segment, np.array(at, STEP) % SEGMENT, np.array(times, TIME), packed.T)
        connection.execute(f"DROP TABLE old_{table}")


UPGRADES: dict[int, Callable[[sqlite3.Connection], None]] = {1: _from_1_to_2, 2: _from_2_to_3}
