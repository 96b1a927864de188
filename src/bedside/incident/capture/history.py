"""The last steps of every series of a run, at full resolution, to be put beside an incident."""

from __future__ import annotations

from bedside.incident.folder import Series
from bedside.record.run import Run


def last_steps(run: Run, count: int) -> Series:
    """Of each series that has readings there: its steps and values."""
    first = run.steps - count
    found: Series = {}
    for key in run.series_keys:
        series = run.series(*key)
        recent = series.steps >= first
        if recent.any():
            found[key] = series.steps[recent], series.values[recent]
    return found
