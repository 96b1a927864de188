"""Stretches of one series: in order they are chained, where they overlap the later one wins."""

from __future__ import annotations

import numpy as np

from bedside.record.joined_series import joined


def part(steps: list[int], value: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array(steps, np.int64), np.full(len(steps), value)


def test_stretches_in_order_are_chained() -> None:
    steps, values = joined([part([0, 1], 1.0), part([], 2.0), part([5, 6], 3.0)])
    assert steps.tolist() == [0, 1, 5, 6]
    assert values.tolist() == [1.0, 1.0, 3.0, 3.0]


def test_the_later_written_reading_of_a_step_wins() -> None:
    steps, values = joined([part([0, 2, 4], 1.0), part([1, 2, 3], 2.0), part([2], 3.0)])
    assert steps.tolist() == [0, 1, 2, 3, 4]
    assert values.tolist() == [1.0, 2.0, 3.0, 2.0, 1.0]


def test_nothing_is_an_empty_series() -> None:
    steps, values = joined([])
    assert (steps.tolist(), values.tolist(), steps.dtype, values.dtype) == ([], [], np.int64, np.float64)
