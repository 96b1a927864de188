from __future__ import annotations

import numpy as np

from bedside.analysis.lasting_rise import lasting_rise
from bedside.analysis.statistics import outline
from bedside.record.series import Series


def a_series(values):
    return Series("val/loss", "", range(len(values)), np.asarray(values, float))


def test_of_a_short_series_no_more_than_the_later_half_counts():
    short = a_series([0.34, 0.36, 0.39, 0.46, 0.43, 0.49])
    assert lasting_rise(short, outline(short)) > 0.1


def test_a_few_unlucky_evaluations_at_the_end_are_no_rise():
    noisy = 1 + 0.2 * np.random.default_rng(0).standard_normal(40)
    noisy[-3:] = 1.4
    series = a_series(noisy)
    curve = outline(series)
    assert lasting_rise(series, curve) < series.values[-3:].mean() - curve.best
