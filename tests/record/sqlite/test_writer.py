"""What is written comes back: values, events, findings, parameters, config."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bedside.finding import Finding, Severity
from bedside.record.missing import MISSING, is_missing
from bedside.record.run import Event, Parameter
from bedside.record.sqlite import blocks as blocks_module
from bedside.record.sqlite import run_folder as folder
from bedside.record.sqlite import writer as store_module
from bedside.record.sqlite.reader import open_run
from bedside.record.sqlite.schema import PARAMETER
from bedside.record.sqlite.writer import Store

LOSS_AND_LR = [("loss", ""), ("lr", "")]


def write(store: Store, set_id: int, first: int, values: object) -> None:
    rows = np.asarray(values, np.float64)
    store.rows(set_id, range(first, first + len(rows)), [0.0] * len(rows), rows)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_come_back_with_nan_and_infinity_and_without_what_is_missing(tmp_path: Path, dtype: str) -> None:
    store = Store.create(tmp_path / "run")
    scalars = store.declare("scalars", LOSS_AND_LR, dtype)
    write(store, scalars, 0, [[1.5, 0.1], [np.nan, MISSING], [np.inf, 0.1], [-np.inf, MISSING]])
    store.close()
    run = open_run(tmp_path / "run")
    assert run.loss.steps.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(run.loss.values, [1.5, np.nan, np.inf, -np.inf])
    assert run.series("lr").steps.tolist() == [0, 2]
    np.testing.assert_array_equal(run.series("lr").values, np.array([0.1, 0.1], dtype).astype(float))


def test_a_column_without_a_single_reading_is_no_series(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", [("loss", ""), ("clip_threshold", "")])
    write(store, scalars, 0, [[1.0, MISSING]])
    store.commit()
    assert open_run(tmp_path).series_keys == [("loss", "")]
    write(store, scalars, 1, [[1.0, 0.5]])
    store.close()
    assert open_run(tmp_path).series("clip_threshold").steps.tolist() == [1]


def test_the_same_columns_are_the_same_set_and_others_a_new_version(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    first = store.declare("modules", [("grad_norm", "a"), ("grad_norm", "b")])
    assert store.declare("modules", [("grad_norm", "a"), ("grad_norm", "b")]) == first
    write(store, first, 0, [[1, 2], [3, 4]])
    second = store.declare("modules", [("grad_norm", "b"), ("grad_norm", "c")])
    assert second != first
    write(store, second, 2, [[5, 6]])
    store.close()
    run = open_run(tmp_path)
    assert run.owners("grad_norm") == ["a", "b", "c"]
    assert run.series("grad_norm", "b").steps.tolist() == [0, 1, 2]
    assert run.series("grad_norm", "b").values.tolist() == [2, 4, 5]
    assert [series.owner for series in run.of("grad_norm")] == ["a", "b", "c"]


def test_sparse_metrics_keep_nan_and_the_last_value_of_a_step(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    for step, value in [(10, 2.0), (20, float("nan")), (30, float("inf")), (10, 1.0), (40, MISSING)]:
        store.metric(step, "val/loss", value)
    store.metric(10, "loss_by_category", 0.3, "cat")
    store.close()
    run = open_run(tmp_path)
    assert run.series("val/loss").steps.tolist() == [10, 20, 30]
    np.testing.assert_array_equal(run.series("val/loss").values, [1.0, np.nan, np.inf])
    assert run.series("loss_by_category", "cat").values.tolist() == [0.3]


def test_events_and_findings_are_committed_at_once(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    store.event(Event(3, "epoch", {"epoch": 1.0, "ratio": float("nan")}, time=5.0))
    found = Finding("NUM101", "nonfinite-loss", Severity.ERROR, "The loss is NaN.", 0.9, 4, 4, where=("head",))
    store.finding(4, found.with_(evidence={"value": float("inf"), "count": np.int64(3)}))
    epoch, alarm = open_run(tmp_path).events
    assert (epoch.step, epoch.kind, epoch.time, epoch.data["epoch"]) == (3, "epoch", 5.0, 1.0)
    assert np.isnan(epoch.data["ratio"])
    assert (alarm.step, alarm.kind) == (4, "alarm")
    assert alarm.data["code"] == "NUM101"
    assert alarm.data["severity"] == int(Severity.ERROR)
    assert alarm.data["evidence"] == {"value": float("inf"), "count": 3}
    assert alarm.time > 0
    store.close()


def test_parameters_are_updated_by_name_and_keep_the_models_order(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    store.parameters([Parameter("z", "top", 4), Parameter("a", "", 2, trainable=False)])
    given = [
        Parameter("a", "", 2, "bfloat16", False, False, 0, np.int64(7)),
        Parameter("z", "top", 4, gradient_steps=7),
    ]
    store.parameters(given)
    store.close()
    assert open_run(tmp_path).parameters == (given[1], given[0])
    assert open_run(tmp_path).parameters[1].trainable is False


def test_every_field_of_a_parameter_has_a_column() -> None:
    assert tuple(field.name for field in fields(Parameter)) == PARAMETER


def test_config_and_environment_hold_anything_plain(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    store.config({"lr": np.float32(0.5), "betas": (0.9, 0.999), "path": Path("data"), "nested": {1: {2, 3}}})
    store.config({"lr": 0.25, "note": "größer"})
    store.environment({"torch": "2.13.0", "seed": 2**63 + 1, "git_dirty": True})
    store.close()
    run = open_run(tmp_path)
    assert run.config["lr"] == 0.25
    assert run.config["betas"] == [0.9, 0.999]
    assert run.config["path"] == "data"
    assert run.config["nested"] == {"1": [2, 3]}
    assert run.config["note"] == "größer"
    assert run.environment == {"torch": "2.13.0", "seed": 2**63 + 1, "git_dirty": True}


@pytest.mark.parametrize("finished", [True, False, None])
def test_a_run_knows_whether_it_finished(tmp_path: Path, finished: bool | None) -> None:
    store = Store.create(tmp_path)
    store.close(finished)
    store.close(True)  # the first word counts
    assert open_run(tmp_path).finished is finished
    assert open_run(tmp_path).ended


def test_a_run_that_is_still_written_has_not_ended(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    assert not open_run(tmp_path).ended
    store.close(None)
    Store.resume(tmp_path)
    assert not open_run(tmp_path).ended


def test_a_finished_run_is_one_plain_file(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    write(store, store.declare("scalars", LOSS_AND_LR), 0, [[1, 1]])
    store.close()
    assert [each.name for each in tmp_path.iterdir()] == ["rank0.sqlite"]


def test_rows_are_committed_when_a_second_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", LOSS_AND_LR)
    store.commit()
    write(store, scalars, 0, [[1, 1]])
    store.commit_if_due()
    assert len(open_run(tmp_path).loss) == 0
    monkeypatch.setattr(store_module, "COMMIT_EVERY", 0.0)
    write(store, scalars, 1, [[1, 1]])
    store.commit_if_due()
    assert len(open_run(tmp_path).loss) == 2
    store.close()


def test_on_a_network_filesystem_there_is_no_write_ahead_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "on_a_network", lambda _: True)
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", LOSS_AND_LR)
    write(store, scalars, 0, [[1, 1]])
    store.commit()
    assert not (tmp_path / "rank0.sqlite-wal").exists()
    run = open_run(tmp_path)
    write(store, scalars, 1, [[2, 1]])
    store.commit()
    assert open_run(tmp_path).loss.values.tolist() == [1, 2]
    assert run.loss.values.tolist() == [1]  # the moment at which it was opened
    store.close()


def test_a_commit_that_meets_a_reader_is_made_up_for_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "on_a_network", lambda _: True)
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", LOSS_AND_LR)
    store.commit()
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM segments").fetchone()
    write(store, scalars, 0, [[1, 1]])
    store.commit()  # the reader's lock is in the way: nothing is lost, nothing is raised
    write(store, scalars, 1, [[2, 1]])
    reader.execute("COMMIT")
    reader.close()
    store.commit()
    assert open_run(tmp_path).loss.values.tolist() == [1, 2]
    store.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # numpy's idle threads
def test_a_forked_child_leaves_the_record_alone(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", LOSS_AND_LR)
    write(store, scalars, 0, [[1, 1]])
    child = os.fork()
    if child == 0:  # what a DataLoader worker or a careless script might do
        try:
            write(store, scalars, 1, [[666, 666]])
            store.metric(1, "val/loss", 666)
            store.event(Event(1, "from the child"))
            store.commit()
            store.close()
            del store
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    write(store, scalars, 1, [[2, 1]])
    store.close()
    run = open_run(tmp_path)
    assert run.loss.values.tolist() == [1, 2]
    assert run.events == ()
    assert not run.has("val/loss")


def test_writing_after_closing_says_so(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    store.close()
    with pytest.raises(ValueError, match="is closed"):
        store.metric(0, "val/loss", 1.0)


def test_rows_of_another_shape_and_impossible_steps_are_refused(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", LOSS_AND_LR)
    with pytest.raises(ValueError, match="expected 1 rows of 2 values"):
        write(store, scalars, 0, [[1, 2, 3]])
    with pytest.raises(ValueError, match="steps count from 0"):
        write(store, scalars, -1, [[1, 2]])
    with pytest.raises(ValueError, match="dtype is one of f4, f8"):
        store.declare("scalars", LOSS_AND_LR, "f2")
    store.close()


def test_ranks_write_side_by_side(tmp_path: Path) -> None:
    stores = [Store.create(tmp_path, rank) for rank in (1, 0)]
    for rank, store in zip((1, 0), stores, strict=True):
        write(store, store.declare("scalars", LOSS_AND_LR), 0, [[rank, 1]])
        store.close()
    assert [open_run(tmp_path, rank).loss.last for rank in (0, 1)] == [0, 1]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=st.integers(1, 5).flatmap(
        lambda width: st.lists(
            st.lists(st.floats(allow_subnormal=True) | st.just(MISSING), min_size=width, max_size=width),
            min_size=1,
            max_size=12,
        )
    ),
    start=st.integers(0, 2**40 - 100),
)
def test_any_table_of_floats_survives(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[float]], start: int
) -> None:
    values = np.array(table)
    run_dir = tmp_path_factory.mktemp("run")
    store = Store.create(run_dir)
    columns = [("grad_norm", f"layer{i}") for i in range(values.shape[1])]
    write(store, store.declare("modules", columns, "f8"), start, values)
    store.close()
    run = open_run(run_dir)
    for (vital, owner), column in zip(columns, values.T, strict=True):
        there = ~is_missing(column)
        series = run.series(vital, owner)
        assert series.steps.tolist() == (start + np.flatnonzero(there)).tolist()
        np.testing.assert_array_equal(series.values, column[there])
        assert run.has(vital, per_owner=True) == bool((~is_missing(values)).any())


def test_steps_that_come_late_or_again_find_their_place(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", LOSS_AND_LR, "f8")
    written: dict[int, float] = {}
    for turn, steps in enumerate([[0, 2, 4], [6, 8], [3, 5], [8], [20, 10], [7, 7], [4], [30]]):
        rows = [[10.0 * turn + i, 1.0] for i in range(len(steps))]
        store.rows(scalars, steps, [0.5 * step for step in steps], np.array(rows))
        written |= {step: row[0] for step, row in zip(steps, rows, strict=True)}
        if turn != 4:  # some among what was written, some among what waits
            store.commit()
    assert store.last_step == 30
    store.close()
    loss = open_run(tmp_path).loss
    assert dict(zip(loss.steps.tolist(), loss.values.tolist(), strict=True)) == written
    assert loss.steps.tolist() == sorted(written)
    with sqlite3.connect(tmp_path / "rank0.sqlite") as connection:
        blocks = connection.execute(f"SELECT at, steps, times FROM rows_{scalars} ORDER BY at").fetchall()
    connection.close()
    assert [int(at) for at, _, _ in blocks] == [int(np.frombuffer(steps, "<i8")[0]) for _, steps, _ in blocks]
    times = np.concatenate([np.frombuffer(times, "<f8") for _, _, times in blocks])
    np.testing.assert_array_equal(times, 0.5 * loss.steps)


def test_what_waits_for_a_commit_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_BYTES_IN_A_BLOCK", 100)
    monkeypatch.setattr(blocks_module, "MAX_BYTES_IN_A_BLOCK", 100)
    store = Store.create(tmp_path)
    scalars = store.declare("scalars", LOSS_AND_LR, "f8")
    write(store, scalars, 0, np.ones((20, 2)))
    write(store, scalars, 20, np.ones((2, 2)))
    store.close()
    with sqlite3.connect(tmp_path / "rank0.sqlite") as connection:
        sizes = connection.execute(f"SELECT length(steps) / 8 FROM rows_{scalars} ORDER BY at").fetchall()
    connection.close()
    assert sizes == [(6,), (6,), (6,), (2,), (2,)]
    assert open_run(tmp_path).loss.steps.tolist() == list(range(22))
