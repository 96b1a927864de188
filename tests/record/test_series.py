import numpy as np

from bedside.record.series import Series


def curve(values):
    return Series("loss", "", np.arange(len(values)), np.asarray(values, np.float64))


def test_thinning_keeps_spikes_dips_nan_and_both_ends():
    values = np.ones(10_000)
    values[[3_333, 6_666, 8_000]] = 50.0, -50.0, np.nan
    values[[0, -1]] = 2.0, 3.0
    thin = curve(values).thinned(100)
    assert len(thin) <= 102
    assert {0, 3_333, 6_666, 8_000, 9_999} <= set(thin.steps.tolist())
    assert (np.diff(thin.steps) > 0).all()


def test_a_short_series_is_not_thinned():
    series = curve([1.0, 2.0, 3.0])
    assert series.thinned(3) is series
