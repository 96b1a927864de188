"""How a run lies on disk: one SQLite file per rank, one table per metric set, the steps of one write in one row.

A metric set is a fixed list of columns that are read together. It has a table of its own, so that reading the
loss never touches the rows of the modules. Values that come now and then (validation, whatever the user logs)
go to `sparse`, one row each. `migrations.py` brings older files to this layout.
"""

from __future__ import annotations

import re
from pathlib import Path

from bedside.record.run import Key

APPLICATION_ID = 0x62656473  # "beds", in the file's header: tells our files from everybody else's SQLite
HEADER = b"SQLite format 3\x00"

# The key of a step is segment * SEGMENT + step: a resumed run is a new segment, so repeated steps overwrite nothing,
# and one range of the primary key is one stretch of one segment. 2**40 steps are 30 years at 1 ms a step.
SEGMENT = 2**40

DTYPES = ("f4", "f8")  # little-endian; whole-run scalars are kept in f8, per-module ones in f4

CREATE = """
CREATE TABLE segments (segment INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL, finished INTEGER);
CREATE TABLE metric_sets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, dtype TEXT NOT NULL,
                          columns TEXT NOT NULL,  -- JSON: [[vital, owner], ...]
                          seen BLOB NOT NULL);    -- one byte a column: 1 once it had a reading
CREATE TABLE sparse_keys (id INTEGER PRIMARY KEY, vital TEXT NOT NULL, owner TEXT NOT NULL, UNIQUE (vital, owner));
CREATE TABLE sparse (key INTEGER NOT NULL, at INTEGER NOT NULL,
                     value REAL,                  -- SQLite keeps no NaN: NULL is a NaN that was seen
                     PRIMARY KEY (key, at)) WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL,
                     data TEXT NOT NULL, time REAL NOT NULL);
CREATE TABLE findings (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, step INTEGER NOT NULL,
                       finding TEXT NOT NULL, time REAL NOT NULL);
CREATE TABLE parameters (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,
                         size INTEGER NOT NULL, dtype TEXT NOT NULL, trainable INTEGER NOT NULL,
                         in_optimizer INTEGER NOT NULL, gradient_steps INTEGER NOT NULL,
                         watched_steps INTEGER NOT NULL);
CREATE TABLE config (segment INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (segment, key));
CREATE TABLE environment (segment INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
                          PRIMARY KEY (segment, key));
"""

# The fields of a Parameter, in the order they are written and read.
PARAMETER = ("name", "owner", "size", "dtype", "trainable", "in_optimizer", "gradient_steps", "watched_steps")


def rows_table(set_id: int) -> str:
    """The table of a metric set; `blocks.py` says what its rows hold."""
    return f"rows_{set_id:d}"


def create_rows_table(set_id: int) -> str:
    return (
        f"CREATE TABLE {rows_table(set_id)} "
        "(at INTEGER PRIMARY KEY, steps BLOB NOT NULL, times BLOB NOT NULL, vals BLOB NOT NULL)"
    )


def key_of(segment: int, step: int) -> int:
    """The row key of a step; steps count from 0."""
    if not 0 <= step < SEGMENT:
        raise ValueError(f"steps count from 0 and stay below 2**40, got {step}")
    return segment * SEGMENT + int(step)


# Vitals that earlier versions wrote under another name; their records read, and resume, under today's.
RENAMED_VITALS = {"uncleared": "grads_not_zeroed"}


def as_columns(pairs: list[list[str]]) -> tuple[Key, ...]:
    """The columns of a metric set, under today's names."""
    return tuple((RENAMED_VITALS.get(vital, vital), owner) for vital, owner in pairs)


RANK_FILE = re.compile(r"rank(\d+)\.sqlite")


def rank_file(run_dir: Path, rank: int) -> Path:
    return run_dir / f"rank{rank}.sqlite"


def ranks_in(run_dir: Path) -> list[int]:
    """The ranks that have a file in this folder; what is called like one but is a pipe or a folder is none."""
    found = ((RANK_FILE.fullmatch(path.name), path) for path in run_dir.iterdir())
    return sorted(int(match[1]) for match, path in found if match and path.is_file())
