"""Reading: lazily, while it is written, from copies and read-only folders, and refusing what is not a run."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.record.written import a_record, an_open_folder, locked, write

from bedside.errors import NoSuchPath, NotARun
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.sqlite.blocks import CHUNK
from bedside.record.sqlite.reader import is_run, open_run
from bedside.record.sqlite.writer import Store


def test_the_folder_and_the_file_open_the_same_run(tmp_path: Path) -> None:
    a_record(tmp_path / "run")
    for path in (tmp_path / "run", tmp_path / "run" / "rank0.sqlite"):
        assert is_run(path)
        run = open_run(path)
        assert (run.name, run.format, run.finished) == (str(path), "bedside", True)
        assert run.loss.values.tolist() == list(range(10))


def test_a_renamed_file_is_still_known_by_its_header(tmp_path: Path) -> None:
    a_record(tmp_path / "run")
    (tmp_path / "run" / "rank0.sqlite").rename(tmp_path / "last-week.db")
    assert is_run(tmp_path / "last-week.db")
    assert len(open_run(tmp_path / "last-week.db").loss) == 10


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"100% of #1? [a] \xff")
    a_record(folder)
    assert len(open_run(folder).loss) == 10


def test_opening_and_reading_one_series_touches_no_other_set(tmp_path: Path) -> None:
    store = a_record(tmp_path, close=False)
    modules = store.declare("modules", [("grad_norm", "a"), ("grad_norm", "b")])
    store.rows(modules, [0], [0.0], np.array([[1.0, 2.0]]))
    store.close()
    run = open_run(tmp_path)
    statements: list[str] = []
    run._load._connection.set_trace_callback(statements.append)
    assert len(run.loss) == 10
    assert [statement for statement in statements if "rows_2" in statement] == []
    assert run.series("grad_norm", "b").values.tolist() == [2.0]
    assert any("rows_2" in statement for statement in statements)  # the probe would have noticed


def test_a_run_longer_than_a_chunk_is_put_together_in_order(tmp_path: Path) -> None:
    a_record(tmp_path, 2 * CHUNK + 5)
    loss = open_run(tmp_path).loss
    np.testing.assert_array_equal(loss.steps, np.arange(2 * CHUNK + 5))
    np.testing.assert_array_equal(loss.values, loss.steps)


def test_blocks_of_any_length_are_put_together_in_order(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    modules = store.declare("modules", [("grad_norm", "a"), ("grad_norm", "b"), ("grad_norm", "c")])
    steps = np.cumsum(np.random.default_rng(0).integers(1, 4, size=500))
    start = 0
    for length in [1, 1, 1, 7, 7, 2, 1, 300, 5, 5, 5, 165]:
        here = steps[start : start + length]
        store.rows(modules, here, here * 1.0, here[:, None] + np.array([0.0, 0.25, 0.5]))
        store.commit()
        start += length
    store.close()
    run = open_run(tmp_path)
    for owner, offset in (("a", 0.0), ("b", 0.25), ("c", 0.5)):
        np.testing.assert_array_equal(run.series("grad_norm", owner).steps, steps)
        np.testing.assert_array_equal(run.series("grad_norm", owner).values, steps + offset)


def test_columns_far_apart_and_out_of_order_are_each_their_own(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    columns = [("update_norm" if i % 2 else "grad_norm", f"layer{9 - i}") for i in range(10)]
    store.rows(store.declare("modules", columns), [0, 5], [0.0, 1.0], np.arange(20.0).reshape(2, 10))
    store.close()
    for series in open_run(tmp_path).of("grad_norm"):
        i = 9 - int(series.owner[5:])
        assert series.values.tolist() == [i, 10 + i]
        assert series.steps.tolist() == [0, 5]


def test_a_run_shows_the_moment_at_which_it_was_opened(tmp_path: Path) -> None:
    store = a_record(tmp_path, 10, close=False)
    store.metric(9, "val/loss", 1.0)
    store.commit()
    before = open_run(tmp_path)
    write(store, 10, 19)
    store.metric(19, "val/loss", 2.0)
    store.commit()
    assert before.loss.last_step == 9
    assert before.series("val/loss").steps.tolist() == [9]
    assert open_run(tmp_path).loss.last_step == 19
    store.close()


WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from bedside.record.sqlite import writer as module
module.COMMIT_EVERY = 0.01
store = module.Store.create(Path(sys.argv[1]))
columns = [("loss", ""), *(("grad_norm", f"layer{i}") for i in range(50))]
modules = store.declare("modules", columns, "f8")
print("ready", flush=True)
step = 0
while step < 100_000:
    steps = np.arange(step, step + 20)
    store.rows(modules, steps, steps * 1.0, np.repeat(steps[:, None] * 1.0, 51, axis=1))
    store.commit_if_due()
    step += 20
    time.sleep(0.001)
"""


def test_another_process_reads_while_it_is_written(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        lengths = []
        while len(lengths) < 10 or lengths[-1] < 200:
            run = open_run(tmp_path)
            loss, layer = run.loss, run.series("grad_norm", "layer7")
            np.testing.assert_array_equal(loss.values, np.arange(len(loss)))  # no hole, no torn row
            assert len(layer) == len(loss)  # of one moment, though fetched one after the other
            lengths.append(len(loss))
            time.sleep(0.01)
        assert writer.poll() is None  # and the writer was not disturbed
        writer.kill()
    assert lengths == sorted(lengths)
    assert lengths[-1] > lengths[0]


def test_a_copy_of_a_run_that_is_being_written_can_be_read(tmp_path: Path) -> None:
    store = a_record(tmp_path / "run", close=False)
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    assert open_run(tmp_path / "copy").loss.values.tolist() == list(range(10))
    (tmp_path / "bare").mkdir()
    shutil.copy(tmp_path / "run" / "rank0.sqlite", tmp_path / "bare")
    assert open_run(tmp_path / "bare").series_keys == []  # without its log it is the run's beginning, and still a run
    store.close()


def test_a_finished_run_in_a_read_only_folder_can_be_read() -> None:
    with an_open_folder() as folder:
        a_record(folder)
        with locked(folder):
            assert open_run(folder).loss.values.tolist() == list(range(10))
            assert [each.name for each in folder.iterdir()] == ["rank0.sqlite"]


def test_a_finished_file_that_still_wants_a_log_can_be_read_in_a_read_only_folder() -> None:
    with an_open_folder() as folder:
        a_record(folder)
        with sqlite3.connect(folder / "rank0.sqlite") as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        with locked(folder):
            assert open_run(folder).loss.values.tolist() == list(range(10))


def test_a_killed_run_in_a_read_only_folder_is_read_with_its_log(tmp_path: Path) -> None:
    store = a_record(tmp_path, close=False)
    with an_open_folder() as folder:
        for name in ("rank0.sqlite", "rank0.sqlite-wal"):  # as an archive has it: the index file is not kept
            shutil.copy(tmp_path / name, folder)
        with locked(folder):
            assert open_run(folder).loss.values.tolist() == list(range(10))
            assert sorted(each.name for each in folder.iterdir()) == ["rank0.sqlite", "rank0.sqlite-wal"]
    store.close()


def test_what_is_not_there_is_said_in_three_lines(tmp_path: Path) -> None:
    with pytest.raises(NoSuchPath) as error:
        open_run(tmp_path / "nowhere")
    assert str(error.value) == (
        f"There is no '{tmp_path}/nowhere'.\n"
        "  Expected: a run folder that bedside.watch() wrote\n"
        f"  Try: ls '{tmp_path}'"
    )
    assert not is_run(tmp_path / "nowhere")


def test_an_empty_folder_is_not_a_run(tmp_path: Path) -> None:
    assert not is_run(tmp_path)
    with pytest.raises(NotARun) as error:
        open_run(tmp_path)
    assert str(error.value) == (
        f"'{tmp_path}' holds no run of rank 0.\n  Expected: a folder with rank0.sqlite in it\n  Try: ls '{tmp_path}'"
    )


def test_a_rank_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    Store.create(tmp_path, rank=1).close()
    Store.create(tmp_path, rank=3).close()
    with pytest.raises(NotARun) as error:
        open_run(tmp_path)
    assert str(error.value) == (
        f"'{tmp_path}' holds no run of rank 0.\n"
        "  Expected: rank 1, 3\n"
        f"  Try: bedside diagnose '{tmp_path}/rank1.sqlite'"
    )


def test_a_foreign_sqlite_file_is_not_a_run_and_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE metrics (key TEXT)")
    connection.close()
    before = path.read_bytes()
    assert not is_run(path)
    with pytest.raises(NotARun) as error:
        open_run(path)
    assert str(error.value) == (
        f"'{path}' is an SQLite file, but bedside did not write it.\n"
        "  Expected: a run folder that bedside.watch() wrote, or the rank0.sqlite in it\n"
        f"  Try: bedside diagnose '{tmp_path}'"
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda whole: b"step,loss\n0,1.0\n", "file is not a database"),
        (lambda whole: b"", "it is empty"),
        (lambda whole: whole[:100], "malformed|not a database"),
        (lambda whole: whole[: len(whole) // 2], "malformed"),
        (lambda whole: whole[:8192] + bytes(len(whole) - 8192), "malformed|bedside did not write it|no such table"),
    ],
    ids=["text", "empty", "only the header", "truncated", "zeroed"],
)
def test_a_damaged_file_is_refused_in_three_lines(tmp_path: Path, damage: object, why: str) -> None:
    a_record(tmp_path, 2000)
    path = tmp_path / "rank0.sqlite"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert is_run(tmp_path)  # ours to complain about
    with pytest.raises(NotARun, match=why) as error:
        _ = open_run(tmp_path).loss
    what, expected, try_ = str(error.value).splitlines()
    assert what.startswith(f"'{path}' cannot be read as a run: ")
    assert expected == "  Expected: a whole file as bedside.watch() wrote it; a copy needs the -wal file beside it"
    assert try_ == f"  Try: cp -r THE_ORIGINAL_FOLDER/. '{tmp_path}'"


def test_damage_inside_is_met_when_the_series_is_asked_for(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    for first in range(0, 5000, 20):
        write(store, first, first + 19)
        store.commit()
    store.close()
    path = tmp_path / "rank0.sqlite"
    whole = bytearray(path.read_bytes())
    middle = len(whole) // 2 // 4096 * 4096
    whole[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(whole)
    run = open_run(tmp_path)
    with pytest.raises(NotARun, match="cannot be read as a run"):
        _ = run.loss


def test_the_series_of_the_whole_run_come_in_one_pass():
    passes = []

    def load(keys):
        passes.append(list(keys))
        return [Series(vital, owner, np.arange(3), np.ones(3)) for vital, owner in keys]

    run = Run("a", keys=[("loss", ""), ("lr", ""), ("grad_norm", "head")], load=load)
    run.fetch_scalars()
    assert len(run.loss) == len(run.series("lr")) == 3
    assert passes == [[("loss", ""), ("lr", "")]]
