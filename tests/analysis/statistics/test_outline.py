"""The outline follows the curve and not its noise."""

from __future__ import annotations

import numpy as np
import pytest

from bedside.analysis.statistics import outline, running_median
from bedside.record.series import Series


def a_series(values):
    return Series("loss", "", np.arange(len(values)), np.asarray(values, float))


def test_running_medians_are_centred_and_keep_the_ends():
    values = np.array([5.0, 1.0, 9.0, 2.0, 8.0, 3.0, 7.0])
    assert running_median(values, 3).tolist() == [5, 5, 2, 8, 3, 7, 7]
    assert running_median(values, 5).tolist() == [5, 5, 5, 3, 7, 7, 7]
    assert running_median(values[:2], 5).tolist() == [5, 1]


def test_outline_has_the_levels_that_matter():
    rng = np.random.default_rng(0)
    curve = outline(a_series(1 + 4 * np.exp(-np.arange(5000) / 500) + 0.1 * rng.normal(size=5000)))
    assert len(curve.values) <= 400
    assert curve.start == pytest.approx(5, abs=0.4)
    assert curve.best == pytest.approx(1, abs=0.15)
    assert curve.now == pytest.approx(1, abs=0.15)
    assert curve.noise == pytest.approx(0.1, rel=0.1)
    assert curve.progress == pytest.approx(4, abs=0.4)


def test_a_spike_does_not_show_and_a_late_blow_up_does():
    values = np.ones(1000)
    values[500] = 100
    assert outline(a_series(values)).values.max() == 1
    values[-20:] = 50
    assert outline(a_series(values)).now == 50


def test_stays_above_names_the_last_return():
    curve = outline(a_series([5, 4, 3, 1, 1, 1, 4, 4, 4, 1, 1, 1, 6, 7, 8, 9]))
    assert curve.stays_above(2) == 12
    assert curve.stays_above(100) == len(curve.values)
