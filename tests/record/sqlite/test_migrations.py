"""Older files are read as they are and upgraded on resume; newer ones are refused."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import bedside
from bedside.errors import NotARun
from bedside.record.run import Parameter
from bedside.record.sqlite import migrations as versions
from bedside.record.sqlite.migrations import FORMAT_VERSION, UPGRADES
from bedside.record.sqlite.reader import open_run
from bedside.record.sqlite.writer import Store


def a_run_of_version(version: int, run_dir: Path) -> Path:
    connection = sqlite3.connect(run_dir / "rank0.sqlite")
    connection.executescript((Path(__file__).parent / f"version_{version}.sql").read_text())
    connection.close()
    return run_dir


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    return a_run_of_version(1, tmp_path)


def a_watched_run_of_version_3(run_dir: Path) -> Path:
    """Eighty watched steps of a small classifier, an input of which is NaN at step 60, written by bedside 0.1.0."""
    kept = (Path(__file__).parent / "version_3.sqlite.gz").read_bytes()
    (run_dir / "rank0.sqlite").write_bytes(gzip.decompress(kept))
    return run_dir


def test_a_watched_run_of_version_3_opens_and_gives_the_diagnosis_that_it_gave(tmp_path: Path) -> None:
    run_dir = a_watched_run_of_version_3(tmp_path)
    run = open_run(run_dir)
    assert (run.steps, len(run.loss), run.finished) == (80, 80, True)
    assert np.isfinite(run.loss.values).sum() == 60
    assert run.series("grad_norm", "2").values[0] == pytest.approx(1.69074, rel=1e-5)
    answer = bedside.diagnose(run_dir)
    assert answer.verdict == "sick"
    assert answer.primary is not None
    assert (answer.primary.code, answer.primary.first_step) == ("DAT101", 60)
    assert {each.code for each in answer.findings} >= {"NUM101", "NUM102", "NUM103"}


def schema(path: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    # Columns by name, type and whether they may be null: an upgraded column may stand last.
    found = {name: sorted(row[1:4] for row in connection.execute(f"PRAGMA table_info({name})")) for name in tables}
    connection.close()
    return found


def test_every_older_version_has_an_upgrade() -> None:
    assert sorted(UPGRADES) == list(range(1, FORMAT_VERSION))


def test_an_older_file_is_read_and_stays_as_it_is(old_run: Path) -> None:
    before = (old_run / "rank0.sqlite").read_bytes()
    run = open_run(old_run)
    np.testing.assert_array_equal(run.loss.values, [2.0, np.nan, 0.5])
    assert run.series("lr").steps.tolist() == [0, 1]
    np.testing.assert_array_equal(run.series("val/loss").values, [0.75, np.nan])
    assert [(event.step, event.kind) for event in run.events] == [(1, "epoch"), (2, "alarm")]
    assert (run.config, run.environment, run.parameters) == ({"lr": 1.0}, {"python": "3.11.7"}, ())
    assert run.finished is True
    assert (old_run / "rank0.sqlite").read_bytes() == before
    assert [each.name for each in old_run.iterdir()] == ["rank0.sqlite"]


def test_resuming_upgrades_in_place(old_run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store.resume(old_run)
    assert store.last_step == 2
    scalars = store.declare("scalars", [("loss", ""), ("lr", "")], "f8")
    assert scalars == 1
    store.rows(scalars, [2, 3], [4.0, 5.0], np.array([[9.0, 1.0], [8.0, 1.0]]))
    store.metric(3, "val/loss", 0.5)
    store.config({"lr": 0.5})
    store.parameters([Parameter("w", "", 3)])
    store.close()
    run = open_run(old_run)
    np.testing.assert_array_equal(run.loss.values, [2.0, np.nan, 9.0, 8.0])
    assert run.series("val/loss").steps.tolist() == [1, 3]
    assert run.config == {"lr": 0.5}
    assert run.parameters == (Parameter("w", "", 3),)
    assert run.notes == ("Resumed at step 2; 1 step after it belongs to an abandoned branch.",)

    new = tmp_path_factory.mktemp("new")
    store = Store.create(new)
    store.declare("scalars", [("loss", ""), ("lr", "")], "f8")
    store.close()
    assert schema(old_run / "rank0.sqlite") == schema(new / "rank0.sqlite")


@pytest.mark.parametrize("resumed", [False, True])
def test_rows_of_single_steps_become_blocks(tmp_path: Path, resumed: bool) -> None:
    a_run_of_version(2, tmp_path)
    if resumed:
        store = Store.resume(tmp_path)
        assert store.last_step == 4
        store.close(finished=True)
    run = open_run(tmp_path)
    np.testing.assert_array_equal(run.loss.values, [4.0, np.nan, 2.5, 1.5, 0.5])
    assert run.loss.steps.tolist() == [0, 1, 2, 3, 4]
    assert run.series("lr").steps.tolist() == [0, 2, 3, 4]
    assert run.series("lr").values.tolist() == [1.0, 0.5, 0.5, 0.5]
    assert run.series("grad_norm", "a").steps.tolist() == [0, 4]
    assert run.series("grad_norm", "b").values.tolist() == [0.25, np.inf, 2.5]
    assert not run.has("update_norm", per_owner=True)
    np.testing.assert_array_equal(run.series("val/loss").values, [0.75, np.nan])
    assert [event.step for event in run.events_of("epoch")] == [4]
    assert run.config == {"lr": 0.5}
    assert run.parameters == (Parameter("a.weight", "a", 3, gradient_steps=5, watched_steps=5),)
    assert run.notes == ("Resumed at step 2; 2 steps after it belong to an abandoned branch.",)
    with sqlite3.connect(tmp_path / "rank0.sqlite") as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(rows_1)")]
    connection.close()
    assert columns == (["at", "steps", "times", "vals"] if resumed else ["at", "time", "vals"])


def test_a_vital_that_was_renamed_is_read_and_resumed_under_its_new_name(tmp_path: Path) -> None:
    old = Store.create(tmp_path)
    columns = [("loss", ""), ("grads_not_zeroed", "")]
    old.rows(old.declare("core", columns, "f8"), np.arange(3), [0.0, 1.0, 2.0], np.asarray([[2.0, 1.0]] * 3))
    old.close()
    with sqlite3.connect(tmp_path / "rank0.sqlite") as connection:  # as the version before wrote it
        connection.execute("UPDATE metric_sets SET columns = replace(columns, 'grads_not_zeroed', 'uncleared')")
    connection.close()
    assert open_run(tmp_path).series("grads_not_zeroed").values.tolist() == [1.0] * 3
    resumed = Store.resume(tmp_path)
    resumed.rows(resumed.declare("core", columns, "f8"), np.asarray([3]), [3.0], np.asarray([[2.0, 0.0]]))
    resumed.close()
    assert open_run(tmp_path).series("grads_not_zeroed").values.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert not len(open_run(tmp_path).series("uncleared"))


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(old_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = schema(old_run / "rank0.sqlite")

    def fails_at_the_end(connection: sqlite3.Connection) -> None:
        versions._from_1_to_2(connection)
        connection.execute("INSERT INTO no_such_table VALUES (1)")

    monkeypatch.setitem(UPGRADES, 1, fails_at_the_end)
    with pytest.raises(Exception, match="no_such_table"):
        Store.resume(old_run)
    assert schema(old_run / "rank0.sqlite") == before
    monkeypatch.undo()
    assert len(open_run(old_run).loss) == 3


@pytest.mark.parametrize("door", [open_run, Store.resume])
def test_a_newer_file_is_refused_in_three_lines(tmp_path: Path, door: object) -> None:
    Store.create(tmp_path).close()
    path = tmp_path / "rank0.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(NotARun) as error:
        door(tmp_path)  # type: ignore[operator]
    assert str(error.value) == (
        f"'{path}' has format version 99, written by a newer bedside.\n"
        "  Expected: format version 3 or older\n"
        "  Try: pip install -U bedside"
    )
