from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bedside.logs.increasing_steps import straighten
from bedside.logs.log import Log
from bedside.logs.steps_within_epoch import over_the_run


def a_log(steps, values=None, axis="step"):
    log = Log("csv", axis=axis)
    for order, step in enumerate(steps):
        log.add("loss", step, float(order if values is None else values[order]), order)
    return log


def steps_of(straight):
    return straight.columns["loss"][0].tolist()


def test_a_good_log_is_left_alone_and_nothing_is_said():
    straight = straighten(a_log([0, 10, 20]))
    assert steps_of(straight) == [0, 10, 20]
    assert straight.notes == []


def test_late_records_are_sorted():
    straight = straighten(a_log([0, 10, 30, 20, 40]))
    assert steps_of(straight) == [0, 10, 20, 30, 40]
    assert straight.columns["loss"][1].tolist() == [0, 1, 3, 2, 4]
    assert straight.events == []
    assert "out of order" in straight.notes[0]


def test_of_repeated_steps_the_last_is_kept():
    straight = straighten(a_log([0, 1, 1, 2]))
    assert straight.columns["loss"][1].tolist() == [0, 2, 3]
    assert "repeat" in straight.notes[0]


def test_equal_repetitions_are_not_worth_a_word():
    assert straighten(a_log([0, 1, 1, 2], [5, 6, 6, 7])).notes == []


def test_a_resume_keeps_the_last_branch_and_is_an_event():
    straight = straighten(a_log([*range(100), *range(50, 80)]))
    assert steps_of(straight) == list(range(80))
    assert straight.columns["loss"][1][50] == 100
    assert [(event.kind, event.step) for event in straight.events] == [("resume", 50)]
    assert "go back to 50" in straight.notes[0]


def test_a_run_begun_anew_in_the_same_file_keeps_the_new_one():
    straight = straighten(a_log([*range(40), *range(10)]))
    assert steps_of(straight) == list(range(10))


def test_a_resume_seen_in_the_loss_cuts_the_evaluations_too():
    log = a_log([*range(100), *range(50, 80)])
    log.add("val", 60, 1.0, 60.5)
    log.add("val", 90, 2.0, 90.5)
    log.add("val", 70, 3.0, 120.5)
    assert straighten(log).columns["val"][0].tolist() == [70]


def test_fractional_epochs_are_numbered():
    straight = straighten(a_log([0.1, 0.2, 0.3], axis="epoch"))
    assert steps_of(straight) == [0, 1, 2]
    assert straight.axis == "step"
    assert "fractional" in straight.notes[0]


def test_a_counter_that_never_moves_is_replaced_by_the_order_written():
    straight = straighten(a_log([0] * 20))
    assert steps_of(straight) == list(range(20))
    assert "Every reading says step 0" in straight.notes[0]


def test_impossible_steps_are_left_out():
    straight = straighten(a_log([-1, 0, float("nan"), 1, 1e300, float("inf")]))
    assert steps_of(straight) == [0, 1]
    assert "4 readings" in straight.notes[0]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=60))
def test_whatever_the_steps_the_result_is_strictly_increasing(steps):
    straight = straighten(a_log(steps))
    for found, values in straight.columns.values():
        assert found.dtype == np.int64
        assert len(found) == len(values) > 0
        assert (np.diff(found) > 0).all()


@given(st.lists(st.integers(0, 50), max_size=80))
def test_no_kept_reading_is_invented(steps):
    straight = straighten(a_log(steps))
    for found, values in straight.columns.values():
        if not any("order written" in note for note in straight.notes):
            assert all(steps[int(value)] == step for step, value in zip(found, values, strict=True))


def test_an_infinite_count_is_no_step():
    assert over_the_run([0, 1, float("inf"), 0, 1], [0, 0, 0, 1, 1]) == [0, 1, None, 2, 3]


def test_a_log_of_several_runs_is_told_from_one_that_was_resumed():
    assert "started again" in straighten(a_log([0, 1, 2, 3, 0, 1, 2])).notes[0]
    assert "resumed" in straighten(a_log([0, 1, 2, 3, 4, 5, 2, 3, 4])).notes[0]


def test_a_column_of_which_nothing_is_left_after_a_restart_is_no_trouble():
    log = a_log([0, 1, 2, 3, 4, 0, 1, 2, 3])
    log.add("percent", 4, 1.0, 4)
    assert list(straighten(log).columns) == ["loss"]


def test_a_run_is_seen_to_start_again_though_every_step_has_several_readings():
    twice = [step for step in [*range(10), *range(4)] for _ in range(2)]
    straight = straighten(a_log(twice))
    assert "started again" in straight.notes[0]
    assert steps_of(straight) == [0, 1, 2, 3]
