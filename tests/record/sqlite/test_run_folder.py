"""Where a run may be written: each refusal with its three lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.record.written import a_record, an_open_folder, locked

from bedside.errors import BedsideError, NotARun, RunFolder
from bedside.record.sqlite import run_folder as folder_module
from bedside.record.sqlite.writer import Store


def three_lines(error: pytest.ExceptionInfo[BedsideError]) -> list[str]:
    return str(error.value).splitlines()


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "runs" / "a")
    assert store.path == tmp_path / "runs" / "a" / "rank0.sqlite"
    assert store.path.is_file()
    store.close()


def test_hidden_files_do_not_make_a_folder_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / ".gitkeep").touch()
    Store.create(tmp_path).close()


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.touch()
    with pytest.raises(RunFolder) as error:
        Store.create(path)
    assert three_lines(error) == [
        f"The run folder '{path}' is a file.",
        "  Expected: a new or empty folder",
        f"  Try: bedside.watch(model, optimizer, run_dir='{path}-run')",
    ]


def test_a_folder_that_holds_another_run(tmp_path: Path) -> None:
    a_record(tmp_path)
    before = (tmp_path / "rank0.sqlite").read_bytes()
    with pytest.raises(RunFolder) as error:
        Store.create(tmp_path)
    assert three_lines(error) == [
        f"The run folder '{tmp_path}' holds another run.",
        "  Expected: a new or empty folder, or resume= to continue the run that is there",
        f"  Try: bedside.watch(model, optimizer, resume='{tmp_path}')",
    ]
    assert (tmp_path / "rank0.sqlite").read_bytes() == before


def test_a_folder_with_other_peoples_files(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").touch()
    (tmp_path / "train.py").touch()
    with pytest.raises(RunFolder) as error:
        Store.create(tmp_path)
    assert three_lines(error) == [
        f"The run folder '{tmp_path}' is not empty: it holds metrics.csv and 1 more.",
        "  Expected: a new or empty folder",
        f"  Try: bedside.watch(model, optimizer, run_dir='{tmp_path}/bedside')",
    ]


def test_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFolder) as error:
        Store.create(tmp_path / "file" / "run")
    assert three_lines(error) == [
        f"The run folder '{tmp_path}/file/run' cannot be written: Not a directory.",
        "  Expected: a folder that this process may create and write to",
        "  Try: bedside.watch(model, optimizer, run_dir='runs/a')",
    ]


def test_a_run_that_cannot_be_started_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "CREATE", "CREATE TABLE segments (a); CREATE TABLE segments (a)")
    with pytest.raises(RunFolder, match="cannot be written: table segments already exists"):
        Store.create(tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    Store.create(tmp_path).close()


@pytest.mark.parametrize("name", ["", "new"])
def test_an_open_folder(name: str) -> None:
    with (
        an_open_folder() as folder,
        locked(folder),
        pytest.raises(RunFolder, match="cannot be written: Permission denied") as error,
    ):
        Store.create(folder / name)
    assert len(three_lines(error)) == 3


def test_resuming_where_there_is_no_run(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RunFolder) as error:
            Store.resume(path)
        assert three_lines(error) == [
            f"There is no run of rank 0 to resume in '{path}'.",
            "  Expected: a folder with a run",
            f"  Try: bedside.watch(model, optimizer, run_dir='{path}')",
        ]


def test_resuming_a_rank_that_never_was(tmp_path: Path) -> None:
    a_record(tmp_path)
    with pytest.raises(RunFolder, match="no run of rank 2 to resume") as error:
        Store.resume(tmp_path, rank=2)
    assert "Expected: one of the ranks that are there (0)" in str(error.value)


def test_resuming_a_run_that_is_being_written(tmp_path: Path) -> None:
    store = a_record(tmp_path, close=False)
    with pytest.raises(RunFolder) as error:
        Store.resume(tmp_path)
    assert three_lines(error) == [
        f"The run in '{tmp_path}' is being written by another process.",
        "  Expected: a run that has ended, in a folder this process may write to",
        "  Try: bedside.watch(model, optimizer, run_dir='runs/b')",
    ]
    store.close()
    Store.resume(tmp_path).close()


def test_resuming_a_run_one_may_not_write() -> None:
    with an_open_folder() as folder:
        a_record(folder)
        with locked(folder), pytest.raises(RunFolder, match="cannot be written: attempt to write a readonly") as error:
            Store.resume(folder)
    assert len(three_lines(error)) == 3


def test_resuming_what_is_not_a_run_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rank0.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE metrics (key TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotARun, match="is an SQLite file, but bedside did not write it"):
        Store.resume(tmp_path)
    assert path.read_bytes() == before
    path.write_text("step,loss\n")
    with pytest.raises(NotARun, match="cannot be read as a run: file is not a database"):
        Store.resume(tmp_path)


def test_a_rank_that_comes_at_the_same_moment_is_no_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Path.iterdir

    def and_then_another_comes(folder: Path) -> Iterator[Path]:
        found = list(listed(folder))
        (tmp_path / "rank1.sqlite").touch()
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", and_then_another_comes)
    Store.create(tmp_path).close()
