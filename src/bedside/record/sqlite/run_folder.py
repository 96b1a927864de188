"""The folder of a run: may a new run start here, is there one to resume, and on which terms with the disk."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from bedside.errors import NotARun, RunFolder, working_directory_is_gone
from bedside.record.sqlite.migrations import stamp, upgrade, version_of
from bedside.record.sqlite.network_filesystem import on_a_network
from bedside.record.sqlite.schema import CREATE, rank_file, ranks_in

WAIT = 0.1  # seconds the training loop may wait for a lock; what could not be committed goes with the next commit


def new_file(run_dir: Path, rank: int) -> tuple[Path, sqlite3.Connection]:
    """A file for a rank's run, with nothing in it yet, in a new or empty folder."""
    if run_dir.exists() and not run_dir.is_dir():
        raise RunFolder(
            f"The run folder '{run_dir}' is a file.",
            expected="a new or empty folder",
            try_=f"bedside.watch(model, optimizer, run_dir='{run_dir}-run')",
        )
    path = rank_file(run_dir, rank)
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        _refuse_what_is_there(run_dir, path)
        path.touch(exist_ok=False)
        return path, _laid_out(path)
    except (OSError, sqlite3.OperationalError) as refused:
        reason = getattr(refused, "strerror", None) or str(refused)
        if not run_dir.is_absolute() and working_directory_is_gone():
            reason = "the working directory was deleted"
        raise RunFolder(
            f"The run folder '{run_dir}' cannot be written: {reason}.",
            expected="a folder that this process may create and write to",
            try_="bedside.watch(model, optimizer, run_dir='runs/a')",
        ) from refused


def _laid_out(path: Path) -> sqlite3.Connection:
    connection = _connect(path)
    try:
        _choose_journal(connection, path.parent)
        connection.execute("BEGIN IMMEDIATE")
        for statement in CREATE.split(";"):
            connection.execute(statement)
        stamp(connection)
        connection.execute("COMMIT")
        # The bare file, without its write-ahead log, should already say whose it is.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except BaseException:
        connection.close()
        path.unlink()  # a full disk must not leave half a run behind
        raise
    return connection


def _refuse_what_is_there(run_dir: Path, path: Path) -> None:
    if path.exists():
        raise RunFolder(
            f"The run folder '{run_dir}' holds another run.",
            expected="a new or empty folder, or resume= to continue the run that is there",
            try_=f"bedside.watch(model, optimizer, resume='{run_dir}')",
        )
    # Hidden files (.gitkeep, .DS_Store) are nobody's run. Other ranks of the same run may have been quicker, and are
    # looked for last: one that comes just now is a stranger in the first list.
    strangers = sorted(each.name for each in run_dir.iterdir() if not each.name.startswith("."))
    if strangers and not ranks_in(run_dir):
        raise RunFolder(
            f"The run folder '{run_dir}' is not empty: it holds {strangers[0]}"
            + (f" and {len(strangers) - 1} more." if len(strangers) > 1 else "."),
            expected="a new or empty folder",
            try_=f"bedside.watch(model, optimizer, run_dir='{run_dir / 'bedside'}')",
        )


def resumed_file(run_dir: Path, rank: int) -> tuple[Path, sqlite3.Connection]:
    """The file of a rank's run (or the file itself), brought to the current format."""
    path = run_dir if run_dir.is_file() else rank_file(run_dir, rank)
    if not path.is_file():
        ranks = ranks_in(run_dir) if run_dir.is_dir() else []
        there = f"one of the ranks that are there ({', '.join(map(str, ranks))})" if ranks else "a folder with a run"
        raise RunFolder(
            f"There is no run of rank {rank} to resume in '{run_dir}'.",
            expected=there,
            try_=f"bedside.watch(model, optimizer, run_dir='{run_dir}')",
        )
    connection = _connect(path)
    try:
        upgrade(connection, version_of(connection, path))  # before anything is changed in somebody else's file
        _choose_journal(connection, path.parent)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as refused:
        connection.close()
        raise RunFolder(
            f"The run in '{run_dir}' is being written by another process."
            if is_busy(refused)
            else f"The run in '{run_dir}' cannot be written: {refused}.",
            expected="a run that has ended, in a folder this process may write to",
            try_="bedside.watch(model, optimizer, run_dir='runs/b')",
        ) from refused
    except sqlite3.DatabaseError as torn:
        connection.close()
        raise damaged(path, torn) from torn
    except BaseException:
        connection.close()
        raise
    return path, connection


def is_busy(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # the low byte: the rest says how busy


def damaged(path: Path, why: Exception | str) -> NotARun:
    return NotARun(
        f"'{path}' cannot be read as a run: {why}.",
        expected="a whole file as bedside.watch() wrote it; a copy needs the -wal file beside it",
        try_=f"cp -r THE_ORIGINAL_FOLDER/. '{path.parent}'",
    )


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)


def _choose_journal(connection: sqlite3.Connection, folder: Path) -> None:
    """A write-ahead log, or a rollback journal where that cannot work."""
    connection.execute("PRAGMA cache_spill = OFF")  # nothing is written between commits, so no lock is needed either
    if not on_a_network(folder):
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode == "wal":
            connection.execute("PRAGMA synchronous = NORMAL")
            return
    # Still safe against the death of the process; syncing each commit over a network would cost milliseconds.
    connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    connection.execute("PRAGMA synchronous = OFF")
