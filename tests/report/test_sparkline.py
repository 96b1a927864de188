import math

from hypothesis import given
from hypothesis import strategies as st

from bedside.report.sparkline import column, sparkline


def test_a_falling_curve_falls():
    assert sparkline([(i, 8.0 - i) for i in range(8)], width=8).drawn == "█▇▆▅▄▃▂▁"


def test_a_spike_of_one_step_is_not_averaged_away():
    points = [(i, 1.0) for i in range(1000)]
    points[500] = (500, 9.0)
    assert sparkline(points, width=10).drawn.count("█") == 1


def test_a_nan_leaves_a_mark_even_among_good_readings():
    points = [(i, 1.0 + i) for i in range(100)]
    points[50] = (50, math.nan)
    assert sparkline(points, width=10).drawn == "▁▁▂▃▄×▆▇██"


def falling(top, bottom):
    return [(i, bottom + (top - bottom) * math.exp(-i / 5)) for i in range(100)]


def test_the_axis_is_logarithmic_when_a_linear_one_would_show_only_the_beginning():
    assert sparkline(falling(20.0, 0.5)).log
    assert not sparkline(falling(3.0, 1.0)).log  # within a decade
    assert not sparkline([(i, 1.0 + i) for i in range(100)]).log  # two decades, but all of it can be seen
    assert not sparkline([(i, v - 1.0) for i, v in falling(20.0, 0.5)]).log  # not all above zero


def test_a_schedule_is_drawn_on_a_linear_axis():
    assert not sparkline(falling(1e-3, 1e-9), name="lr/group_1").log


def test_rare_readings_are_held_and_the_future_is_blank():
    assert sparkline([(1, 2.0), (3, 1.0)], width=8, first=0, last=7).drawn == " ██▁    "


def test_a_constant_curve_is_level():
    assert set(sparkline([(i, 3e-4) for i in range(9)], width=5).drawn) == {"▅"}


def test_no_points_draw_nothing():
    assert sparkline([]).drawn == ""


def test_a_step_has_its_column():
    assert [column(step, 10, 0, 99) for step in (0, 9, 10, 99, 500)] == [0, 0, 1, 9, 9]


anything = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(anything, min_size=1, max_size=50), st.integers(1, 60))
def test_any_readings_can_be_drawn(values, width):
    assert len(sparkline(list(enumerate(values)), width).drawn) == width
