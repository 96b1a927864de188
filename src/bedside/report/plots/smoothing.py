"""The mean of the readings around each: what a chart draws as its smoothed line."""

from __future__ import annotations

import numpy as np

from bedside.record.series import Values


def moving_mean(values: Values, window: int) -> Values:
    """Centred means of the finite readings; at the ends over what is there, and NaN where nothing is.

    >>> moving_mean(np.array([1.0, 2.0, 6.0, np.nan]), 3).tolist()
    [1.5, 3.0, 4.0, 6.0]
    """
    half = max(1, min(window, len(values)) // 2)
    good = np.isfinite(values)
    # Not by differences of running sums: a spike of 1e11 would take the digits of everything after it.
    around = np.lib.stride_tricks.sliding_window_view(np.pad(np.where(good, values, 0.0), half), 2 * half + 1)
    counts = np.lib.stride_tricks.sliding_window_view(np.pad(good, half), 2 * half + 1).sum(axis=1)
    means: Values = np.where(counts > 0, around.sum(axis=1) / np.maximum(counts, 1), np.nan)
    return means
