"""Records that were made to hang their reader, to fill its memory or to break it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.hostile.programs import a_healthy_table, command, is_a_three_line_error

import bedside
from bedside.errors import NotARun
from bedside.record.run import Event
from bedside.record.sqlite.writer import Store

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def a_record(folder: Path) -> Path:
    store = Store.create(folder)
    rows = np.array([[2 / (1 + 0.1 * step), 0.1] for step in range(100)])
    store.rows(store.declare("scalars", [("loss", ""), ("lr", "")], "f8"), range(100), [0.0] * 100, rows)
    store.metric(50, "val/loss", 1.0)
    store.event(Event(3, "epoch", {"epoch": 1.0}))
    store.close(finished=True)
    return folder / "rank0.sqlite"


def script(text: str) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.executescript(text)


def large_blocks(connection: sqlite3.Connection) -> None:
    """A gigabyte of zeros, which is a megabyte in an archive."""
    connection.execute("DELETE FROM rows_1")
    for step in range(300):
        connection.execute("INSERT INTO rows_1 VALUES (?, zeroblob(8), zeroblob(8), zeroblob(4000000))", (step,))


REFUSED = {
    "a view that counts for ever": script(
        f"DROP TABLE events; CREATE VIEW events AS {ENDLESS} SELECT 0 AS segment, x AS step, 'epoch' AS kind, "
        "'{}' AS data, 0.0 AS time, x AS id FROM n"
    ),
    "a view of rows": script(
        f"DROP TABLE rows_1; CREATE VIEW rows_1 AS {ENDLESS} SELECT x AS at, zeroblob(1000000000) AS steps, "
        "zeroblob(8) AS times, zeroblob(1000000000) AS vals FROM n"
    ),
    "a computed column": script(
        "DROP TABLE events; CREATE TABLE events (id INTEGER PRIMARY KEY, segment INTEGER DEFAULT 0, step INTEGER, "
        "kind TEXT, time REAL, data TEXT AS (zeroblob(200000000))); "
        "INSERT INTO events (segment, step, kind, time) VALUES (0, 1, 'epoch', 0.0)"
    ),
    "a virtual table": script(
        "DROP TABLE findings; CREATE VIRTUAL TABLE findings USING fts5(segment, step, finding, time)"
    ),
    "a cell of a hundred megabytes": script("UPDATE metric_sets SET columns = hex(zeroblob(50000000))"),
    "columns that are nested": script(f"UPDATE metric_sets SET columns = '{'[' * 100_000}'"),
    "columns that are not pairs": script("UPDATE metric_sets SET columns = '{\"a\": 1}'"),
    "a type that is none": script("UPDATE metric_sets SET dtype = 'U1000000'"),
    "blocks of no length": script("UPDATE rows_1 SET steps = x'00', vals = x''"),
    "two million resumes": script(
        f"INSERT INTO segments SELECT value, 0.0, NULL, NULL FROM ({ENDLESS} SELECT x AS value FROM n LIMIT 2000000)"
    ),
}
TOLERATED = {
    "an event nested a hundred thousand deep": script(f"UPDATE events SET data = '{'[' * 100_000}'"),
    "an event that is a list": script("UPDATE events SET data = '[1, 2]'"),
    "an event that is a number": script("UPDATE events SET data = '7'"),
    "an event at no step": script("UPDATE events SET step = 'soon'"),
    "a configuration of another shape": script("INSERT INTO config VALUES (0, 'optimizers', '{\"a\": [[[]]]}')"),
    "values that compress well": large_blocks,
}


@pytest.mark.parametrize("attack", REFUSED)
def test_a_crafted_record_is_refused_in_three_lines(tmp_path: Path, attack: str) -> None:
    with closing(sqlite3.connect(a_record(tmp_path / "run"))) as connection:
        REFUSED[attack](connection)
        connection.commit()
    result = command("diagnose", tmp_path / "run", timeout=60)
    assert is_a_three_line_error(result), result.err
    assert result.megabytes < 300
    assert result.seconds < 40


@pytest.mark.parametrize("attack", TOLERATED)
def test_what_is_damaged_in_a_record_is_left_out(tmp_path: Path, attack: str) -> None:
    with closing(sqlite3.connect(a_record(tmp_path / "run"))) as connection:
        TOLERATED[attack](connection)
        connection.commit()
    result = command("diagnose", tmp_path / "run", timeout=60)
    assert result.code == 0, result.err
    assert "run" in result.out
    assert result.megabytes < 300


def test_none_of_them_stops_the_healthy_run_beside_it(tmp_path: Path) -> None:
    for place, attack in enumerate(REFUSED):
        with closing(sqlite3.connect(a_record(tmp_path / f"bad{place}"))) as connection:
            REFUSED[attack](connection)
            connection.commit()
    a_healthy_table(tmp_path / "good" / "log.csv")
    result = command("diagnose", tmp_path, "--explain-names", timeout=200)
    assert result.code == 0, result.err
    assert "good/log.csv  healthy" in result.out
    assert f"1 healthy, {len(REFUSED)} not readable" in result.out
    assert result.megabytes < 300


def test_a_record_cannot_be_hidden_behind_pipes_and_links(tmp_path: Path) -> None:
    path = a_record(tmp_path / "run")
    wal = path.with_name(path.name + "-wal")
    wal.symlink_to("/etc/passwd")
    result = command("diagnose", tmp_path / "run", timeout=60)
    assert is_a_three_line_error(result)
    assert "not a plain file" in result.err


def test_a_schema_that_is_no_text_is_refused_in_three_lines(tmp_path: Path) -> None:
    """SQLite's complaint quotes the damaged bytes, which are no UTF-8."""
    path = a_record(tmp_path / "run")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREAT\xc7 TABLE", 1))
    with pytest.raises(NotARun, match="cannot be read as a run"):
        bedside.load(path)
