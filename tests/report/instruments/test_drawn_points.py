import numpy as np

from bedside.record.series import Series
from bedside.report.instruments.drawn_points import CurveTable


def drawn(values, points=10, **options):
    table = CurveTable(points=points)
    table.add(Series("loss", "", np.arange(len(values)), np.asarray(values, float)), **options)
    return table.to_json()


def test_a_short_curve_is_sent_as_it_is():
    data = drawn([3.0, 1.0, 2.0])
    assert data["steps"] == [[0, 1, 2]]
    assert data["series"]["loss"] == {"axis": 0, "recorded": 3, "mean": [3.0, 1.0, 2.0]}


def test_a_spike_of_one_step_among_a_hundred_thousand_is_as_high_as_it_was():
    values = np.ones(100_000)
    values[54_321] = 1e6
    values[77_777] = -5.0
    curve = drawn(values, points=500)["series"]["loss"]
    assert len(curve["mean"]) == 500
    assert max(curve["high"]) == 1e6
    assert min(curve["low"]) == -5.0


def test_means_are_those_of_the_obvious_way():
    values = np.random.default_rng(0).random(1000)
    curve = drawn(values, points=10)["series"]["loss"]
    assert np.allclose(curve["mean"], [values[i : i + 100].mean() for i in range(0, 1000, 100)], rtol=1e-4)
    assert np.allclose(curve["low"], [values[i : i + 100].min() for i in range(0, 1000, 100)], rtol=1e-4)


def test_what_is_no_number_is_a_gap_with_a_mark():
    values = np.ones(1000)
    values[500:] = np.nan
    values[3] = np.inf
    curve = drawn(values, points=10)["series"]["loss"]
    assert curve["mean"][:5] == [1.0] * 5
    assert curve["mean"][5:] == [None] * 5
    assert curve["not_finite"][0] == [3, "Infinity"]
    assert {name for step, name in curve["not_finite"] if step >= 500} == {"NaN"}


def test_series_of_the_same_steps_share_them():
    table = CurveTable()
    for name in ("loss", "lr"):
        table.add(Series(name, "", np.arange(5), np.ones(5)))
    table.add(Series("val/loss", "", np.array([4]), np.ones(1)))
    data = table.to_json()
    assert data["steps"] == [[0, 1, 2, 3, 4], [4]]
    assert [each["axis"] for each in data["series"].values()] == [0, 0, 1]
