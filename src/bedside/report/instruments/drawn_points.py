"""A series as a page draws it: few enough points to be quick, and no extreme lost.

A long series is cut into bins of equally many readings. Each bin keeps its mean, its lowest and its highest finite
reading, so that a spike of one step is still as high as it was, and says whether anything in it was not a number.
Series that were read at the same steps share one list of steps, which is most of what a page weighs.

>>> import numpy as np
>>> table = CurveTable(points=2)
>>> table.add(Series("loss", "", np.arange(5), np.array([4.0, 2.0, 9.0, np.nan, 9.0])))
'loss'
>>> table.to_json()["series"]["loss"]
{'axis': 0, 'recorded': 5, 'mean': [3.0, 9.0], 'low': [2.0, 9.0], 'high': [4.0, 9.0], 'not_finite': [[3, 'NaN']]}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.record.series import Series

POINTS = 500  # of a curve: more than the pixels of a phone, and zooming still shows something
DIGITS = 5  # significant; a chart of 500 pixels shows three
MAX_NOT_FINITE = 200  # marks above a chart; a run that stays NaN for good needs no more of them


class CurveTable:
    """The curves of a page, each once however many charts show it."""

    def __init__(self, points: int = POINTS) -> None:
        self.points = points
        self._axes: dict[bytes, int] = {}
        self._steps: list[list[int]] = []
        self._series: dict[str, dict[str, Any]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._series

    def add(self, series: Series, points: int | None = None, *, band: bool = True) -> str:
        """Take a series in, if it is not there yet, and return its key."""
        if series.key not in self._series and series:
            self._series[series.key] = self._drawn(series, points or self.points, band)
        return series.key

    def to_json(self) -> dict[str, Any]:
        return {"steps": self._steps, "series": self._series}

    def _drawn(self, series: Series, points: int, band: bool) -> dict[str, Any]:
        finite = np.isfinite(series.values)
        drawn: dict[str, Any] = {"axis": 0, "recorded": len(series)}
        if len(series) <= (2 * points if band else points):  # mean, low and high would weigh as much
            drawn["axis"] = self._axis(series.steps)
            drawn["mean"] = rounded(np.where(finite, series.values, np.nan))
        else:
            edges = np.linspace(0, len(series), points + 1).astype(np.int64)[:-1]
            drawn["axis"] = self._axis(series.steps[(edges + np.append(edges[1:], len(series)) - 1) // 2])
            counts = np.add.reduceat(finite, edges)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                mean = np.add.reduceat(np.where(finite, series.values, 0.0), edges) / counts
            low = np.minimum.reduceat(np.where(finite, series.values, np.inf), edges)
            high = np.maximum.reduceat(np.where(finite, series.values, -np.inf), edges)
            drawn["mean"] = rounded(mean)
            if band:
                drawn |= {"low": rounded(low), "high": rounded(high)}
        bad = np.flatnonzero(~finite)
        if len(bad):
            shown = bad[np.unique(np.linspace(0, len(bad) - 1, MAX_NOT_FINITE).astype(np.int64))]
            drawn["not_finite"] = [[int(series.steps[i]), _name(float(series.values[i]))] for i in shown]
        return drawn

    def _axis(self, steps: NDArray[np.int64]) -> int:
        known = self._axes.setdefault(steps.tobytes(), len(self._steps))
        if known == len(self._steps):
            self._steps.append(steps.tolist())
        return known


def rounded(values: NDArray[np.float64]) -> list[float | None]:
    """As JSON can hold them: null for what is not a number."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()]


def _name(value: float) -> str:
    """JSON has no word for these, so they are written as strings, as in the JSON report."""
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
