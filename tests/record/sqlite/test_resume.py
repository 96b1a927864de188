"""Resuming: on the same axis, from an earlier checkpoint, and into the live view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.record.written import a_record, write

from bedside.record.live_run import GrowingRun
from bedside.record.run import Event
from bedside.record.sqlite.reader import open_run, replay
from bedside.record.sqlite.writer import Store


def test_a_resumed_run_continues_on_the_same_axis(tmp_path: Path) -> None:
    a_record(tmp_path, 100)
    store = Store.resume(tmp_path)
    assert (store.last_step, store.segment) == (99, 1)
    write(store, 100, 149)
    assert store.last_step == 149
    store.close()
    run = open_run(tmp_path)
    np.testing.assert_array_equal(run.loss.steps, np.arange(150))
    assert run.notes == ("Resumed at step 100.",)
    assert [(event.step, event.kind) for event in run.events] == [(100, "resume")]
    assert run.finished is None  # of the last segment: nobody said


def test_the_file_may_be_named_instead_of_the_folder(tmp_path: Path) -> None:
    a_record(tmp_path, 100)
    store = Store.resume(tmp_path / "rank0.sqlite")
    assert store.last_step == 99
    store.close()


def test_a_run_without_a_step_resumes_at_the_beginning(tmp_path: Path) -> None:
    Store.create(tmp_path).close()
    store = Store.resume(tmp_path)
    assert store.last_step == -1
    store.close()
    run = open_run(tmp_path)
    assert (run.series_keys, run.notes, run.steps) == ([], (), 0)


def test_from_an_earlier_checkpoint_the_later_branch_wins_and_nothing_is_overwritten(tmp_path: Path) -> None:
    store = a_record(tmp_path, 1000, close=False)
    for step in (700, 800, 900):
        store.metric(step, "val/loss", step)
        store.event(Event(step, "epoch"))
    store.close()
    store = Store.resume(tmp_path)
    assert store.last_step == 999
    store.metric(799, "val/loss", -1.0)  # evaluated before the first step: opens no branch
    write(store, 800, 849, offset=0.5)
    assert store.last_step == 849
    store.close()
    run = open_run(tmp_path)
    np.testing.assert_array_equal(run.loss.steps, np.arange(850))
    np.testing.assert_array_equal(run.loss.values[:800], np.arange(800))
    np.testing.assert_array_equal(run.loss.values[800:], np.arange(800, 850) + 0.5)
    assert run.series("val/loss").steps.tolist() == [700, 799]
    assert [event.step for event in run.events_of("epoch")] == [700]
    assert run.notes == ("Resumed at step 800; 200 steps after it belong to an abandoned branch.",)
    assert Store.resume(tmp_path).last_step == 849

    import sqlite3

    with sqlite3.connect(tmp_path / "rank0.sqlite") as connection:
        assert connection.execute("SELECT sum(length(steps)) / 8 FROM rows_1").fetchone() == (1050,)
    connection.close()


def test_resuming_again_and_again_tells_every_branch(tmp_path: Path) -> None:
    a_record(tmp_path, 100)
    for first, last in ((80, 89), (60, 69), (70, 74)):
        store = Store.resume(tmp_path)
        write(store, first, last, offset=first / 1000)
        store.close()
    Store.resume(tmp_path).close()  # and once without a step
    run = open_run(tmp_path)
    np.testing.assert_array_equal(run.loss.steps, np.arange(75))
    assert run.loss.values[59:61].tolist() == [59.0, 60.06]
    assert run.loss.values[69:71].tolist() == [69.06, 70.07]
    assert run.notes == (
        "Resumed at step 80; 20 steps after it belong to an abandoned branch.",
        "Resumed at step 60; 30 steps after it belong to an abandoned branch.",
        "Resumed at step 70.",
    )


def test_what_was_said_last_about_the_run_wins(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    store.config({"lr": 0.1, "model": "mlp"})
    store.close(finished=False)
    store = Store.resume(tmp_path)
    store.config({"lr": 0.01})
    store.close(finished=True)
    run = open_run(tmp_path)
    assert run.config == {"lr": 0.01, "model": "mlp"}
    assert run.finished is True


def test_a_resumed_run_knows_its_metric_sets_and_sparse_names(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    columns = [("grad_norm", "a"), ("grad_norm", "b")]
    first = store.declare("modules", columns)
    store.metric(0, "val/loss", 1.0)
    store.close()
    store = Store.resume(tmp_path)
    assert store.declare("modules", columns) == first
    store.metric(1, "val/accuracy", 0.5)
    store.metric(1, "val/loss", 2.0)
    store.close()
    run = open_run(tmp_path)
    assert run.series("val/loss").values.tolist() == [1.0, 2.0]
    assert run.series("val/accuracy").values.tolist() == [0.5]


def test_the_past_is_poured_into_the_live_view(tmp_path: Path) -> None:
    store = a_record(tmp_path, 1000, close=False)
    store.metric(500, "val/loss", 3.0)
    store.event(Event(10, "epoch", {"epoch": 1}))
    store.close()
    store = Store.resume(tmp_path)
    growing = GrowingRun("run")
    replay(tmp_path, growing)
    growing.append([("loss", "")], [1000, 1001], np.array([[7.0], [8.0]]))
    growing.metric(1001, "val/loss", 2.0)
    store.close()
    run = growing.run()
    np.testing.assert_array_equal(run.loss.steps, np.arange(1002))
    assert run.series("val/loss").values.tolist() == [3.0, 2.0]
    assert [event.kind for event in run.events] == ["epoch"]
