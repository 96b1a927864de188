import numpy as np

from bedside.analysis.windows import second_half, since_above, since_below, spread_evenly
from bedside.record.series import Series


def read(steps, values=None):
    return Series("grad_norm", "", steps, np.asarray(steps, float) if values is None else values)


def test_an_even_series_is_left_as_it_is():
    assert len(spread_evenly(read(range(100)))) == 100
    assert len(spread_evenly(read(range(0, 1000, 10)))) == 100


def test_a_beginning_that_was_read_closely_counts_by_its_length():
    even = spread_evenly(read([*range(100), *range(500, 10_001, 500)]))
    assert len(even) == 21
    assert even.last_step == 10_000


def test_the_start_is_left_out_by_time_and_not_by_readings():
    later = spread_evenly(read([*range(100), *range(500, 10_001, 500)]), start=0.2)
    assert later.first_step == 2000
    assert second_half(read(range(100))).first_step == 49


def test_where_hardly_anything_was_read_later_the_early_readings_are_all_there_is():
    assert len(spread_evenly(read([*range(100), 500]), start=0.2)) == 81


def test_nothing_stays_nothing():
    assert not spread_evenly(read([]))
    assert len(spread_evenly(read([3]))) == 1


def test_a_condition_sets_in_after_the_last_two_readings_in_a_row_that_break_it():
    rising = Series("x", "", np.arange(0, 90, 10), np.array([0.0, 0, 0, 5, 5, 0, 5, 5, 5]))
    assert since_above(rising, 1.0) == 30
    assert since_below(rising, 1.0) == 80  # it ends above: never


def test_a_condition_that_always_held_set_in_at_the_first_reading():
    assert since_above(Series("x", "", np.arange(5) + 7, np.full(5, 2.0)), 1.0) == 7
    assert since_above(Series("x", "", np.arange(5) + 7, np.array([0.0, 2, 2, 2, 2])), 1.0) == 8
