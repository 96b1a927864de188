"""The live view: bounded, exact at both ends, and honest in between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bedside.record.downsampled import CAPACITY, FOLD, HEAD, Thinned
from bedside.record.live_run import FIRST_EVENTS, LAST_EVENTS, GrowingRun
from bedside.record.missing import MISSING
from bedside.record.run import Event, Parameter

LOSS = [("loss", "")]


def grown(values: np.ndarray, batch: int = 20) -> GrowingRun:
    growing = GrowingRun("run")
    for start in range(0, len(values), batch):
        piece = values[start : start + batch]
        growing.append(LOSS, np.arange(start, start + len(piece)), piece[:, np.newaxis])
    return growing


@pytest.mark.parametrize("length", [1, 31, 500, CAPACITY, CAPACITY + 1, 3000, 20_000, 300_000])
@pytest.mark.parametrize("batch", [20, 4096])
def test_the_start_and_the_recent_past_are_exact_and_the_size_is_bounded(length: int, batch: int) -> None:
    values = np.random.default_rng(0).normal(size=length)
    loss = grown(values, batch).run().loss
    assert len(loss) <= CAPACITY <= 1504
    assert (np.diff(loss.steps) > 0).all()
    np.testing.assert_array_equal(loss.values[:HEAD], values[:HEAD])
    np.testing.assert_array_equal(loss.values[-500:], values[-500:])
    np.testing.assert_array_equal(loss.steps[-500:], np.arange(length)[-500:])
    assert len(loss) >= min(length, 700)


@pytest.mark.parametrize("length", [2000, 5000, 50_000, 1_000_000])
def test_a_line_stays_the_same_line(length: int) -> None:
    """Block means of a straight line, at the middle of their blocks, lie on the line."""
    loss = grown(np.arange(length) * 2.0, 5000).run().loss
    np.testing.assert_allclose(loss.values, loss.steps * 2.0, atol=1.0)  # the middle of an even block is between steps


def test_the_middle_holds_the_means_of_equal_blocks() -> None:
    values = np.random.default_rng(1).normal(size=10_000)
    loss = grown(values).run().loss
    exact_from = int(np.flatnonzero(np.diff(loss.steps[HEAD:]) == 1)[0]) + HEAD
    blocks = loss.values[HEAD:exact_from]
    size = int(loss.steps[HEAD + 1] - loss.steps[HEAD])
    slow = values[HEAD : HEAD + len(blocks) * size].reshape(-1, size).mean(axis=1)
    np.testing.assert_allclose(blocks, slow, rtol=1e-12)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_nonfinite_reading_is_never_averaged_away_and_keeps_its_step(odd: float) -> None:
    values = np.ones(60_000)
    values[777] = odd
    loss = grown(values, 1000).run().loss
    bad = ~np.isfinite(loss.values)
    assert loss.steps[bad].tolist() == [777]
    np.testing.assert_array_equal(loss.values[bad], [odd])


def test_large_readings_do_not_add_up_to_an_infinity() -> None:
    loss = grown(np.full(20_000, 1.5e308)).run().loss
    assert np.isfinite(loss.values).all()


def test_what_is_missing_is_not_averaged_and_not_shown() -> None:
    growing = GrowingRun("run")
    steps = np.arange(5000)
    values = np.full((5000, 3), MISSING)
    values[:, 0] = 1.0
    values[::10, 1] = 7.0
    for start in range(0, 5000, 100):
        piece = slice(start, start + 100)
        growing.append([("loss", ""), ("update_norm", ""), ("clip_threshold", "")], steps[piece], values[piece])
    run = growing.run()
    assert run.series_keys == [("loss", ""), ("update_norm", "")]
    assert set(run.series("update_norm").values.tolist()) == {7.0}
    assert (run.series("update_norm").tail(40).steps % 10 == 0).all()
    assert len(run.series("update_norm")) < len(run.loss)


def test_columns_of_one_set_come_out_as_their_own_series() -> None:
    growing = GrowingRun("run")
    columns = [("grad_norm", owner) for owner in "abc"]
    growing.append(columns, [0, 1], np.array([[1.0, 2.0, np.nan], [4.0, MISSING, 6.0]]))
    run = growing.run()
    a, b, c = run.of("grad_norm")
    assert (a.values.tolist(), b.values.tolist()) == ([1.0, 4.0], [2.0])
    np.testing.assert_array_equal(c.values, [np.nan, 6.0])
    a.values[:] = 0.0  # a copy: the view cannot be spoilt by a rule
    assert growing.run().series("grad_norm", "a").values.tolist() == [1.0, 4.0]


def test_a_model_that_changes_its_modules_continues_the_series_it_keeps() -> None:
    growing = GrowingRun("run")
    growing.append([("grad_norm", "a"), ("grad_norm", "b")], [0, 1], np.ones((2, 2)))
    growing.append([("grad_norm", "b"), ("grad_norm", "c")], [2, 3], np.full((2, 2), 2.0))
    run = growing.run()
    assert run.owners("grad_norm") == ["a", "b", "c"]
    assert run.series("grad_norm", "b").steps.tolist() == [0, 1, 2, 3]


def test_going_back_drops_what_came_after() -> None:
    growing = grown(np.arange(30_000.0))
    growing.append(LOSS, [29_990, 29_991], np.array([[0.0], [0.0]]))
    assert growing.run().loss.tail(3).steps.tolist() == [29_989, 29_990, 29_991]
    growing.append(LOSS, [5000], np.array([[0.0]]))
    loss = growing.run().loss
    assert loss.last_step == 5000
    assert loss.steps[-2] < 5000
    assert (np.diff(loss.steps) > 0).all()
    growing.append(LOSS, [3], np.array([[0.0]]))
    assert growing.run().loss.steps.tolist() == [0, 1, 2, 3]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 2000)), min_size=1, max_size=12))
def test_any_course_of_growing_and_going_back_keeps_its_promises(course: list[tuple[int, int]]) -> None:
    table = Thinned(1)
    next_step = 0
    for length, back in course:
        next_step = max(0, next_step - back)
        steps = np.arange(next_step, next_step + length)
        table.append(steps, steps[:, np.newaxis] * 1.0)
        next_step += length
        ((at, values),) = table.columns([0])
        assert len(at) <= CAPACITY
        assert (np.diff(at) > 0).all()
        assert at[-1] == next_step - 1
        recent = min(length, FOLD)
        np.testing.assert_array_equal(values[-recent:], steps[-recent:])
        # Going back leaves blocks of unequal lengths; the mean of two such is not at their middle, but inside them.
        np.testing.assert_allclose(values, at, atol=max(0.5, np.diff(at).max(initial=1) / 2))


def test_sparse_metrics_grow_too_and_the_last_of_a_step_counts() -> None:
    growing = GrowingRun("run")
    for step in range(0, 40_000, 10):
        growing.metric(step, "val/loss", float(step))
    growing.metric(39_990, "val/loss", -1.0)
    growing.metric(5, "val/banana", MISSING)
    val = growing.run().series("val/loss")
    assert len(val) <= CAPACITY
    assert val.tail(2).values.tolist() == [39_980.0, -1.0]
    assert not growing.run().has("val/banana")


def test_the_first_and_the_newest_events_are_kept() -> None:
    growing = GrowingRun("run")
    for step in range(5000):
        growing.event(Event(step, "skipped"))
    steps = [event.step for event in growing.run().events]
    assert steps[:FIRST_EVENTS] == list(range(FIRST_EVENTS))
    assert steps[FIRST_EVENTS:] == list(range(5000 - LAST_EVENTS, 5000))


def test_the_run_carries_what_else_is_known() -> None:
    growing = GrowingRun("runs/a")
    growing.parameters = [Parameter("w", "", 3)]
    growing.config = {"lr": 0.1}
    run = growing.run()
    assert (run.name, run.parameters, run.config) == ("runs/a", (Parameter("w", "", 3),), {"lr": 0.1})


def test_memory_and_the_work_of_a_look_do_not_grow_with_the_run() -> None:
    """Counted, not timed: arrays keep their size, and a series has no more points at a million steps."""
    columns = [("grad_norm", f"layer{i}") for i in range(50)]
    growing = GrowingRun("run")
    sizes = []
    for start in range(0, 1_000_000, 10_000):
        growing.append(columns, np.arange(start, start + 10_000), np.ones((10_000, 50)))
        (table,) = growing._sets.values()
        sizes.append((table._values.nbytes, max(len(series) for series in growing.run().of("grad_norm"))))
    assert len({memory for memory, _ in sizes}) == 1
    assert max(points for _, points in sizes) <= CAPACITY


def test_an_empty_batch_is_nothing() -> None:
    growing = GrowingRun("run")
    growing.append(LOSS, [], np.empty((0, 1)))
    assert growing.run().series_keys == []
