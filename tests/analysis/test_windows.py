import numpy as np

from bedside.analysis.windows import second_half, spread_evenly
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
