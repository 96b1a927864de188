"""A curve in one line of text: `▇▆▄▃▂▂▁▁`.

Each column shows the highest reading of its stretch of steps, so that a spike of one step is not averaged away;
a stretch without a reading holds the one before (evaluations are rare), and `×` marks a NaN or an infinity.
The axis is logarithmic when a linear one would show nothing but the beginning.

>>> sparkline([(0, 8.0), (1, 4.0), (2, 2.0), (3, float("nan"))], width=4).drawn
'█▃▁×'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

BARS = "▁▂▃▄▅▆▇█"
GAP = "×"
DECADES_FOR_LOG = 1.0  # a curve within one decade reads well enough on a linear axis, spikes and all

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Sparkline:
    drawn: str
    log: bool


def sparkline(
    points: Points,
    width: int = 48,
    *,
    name: str = "",
    first: int | None = None,
    last: int | None = None,
    beside: Points = (),
) -> Sparkline:
    """Draw `points` over the steps `first` to `last`, by default their own; on one scale with those `beside` it."""
    if not points:
        return Sparkline("", False)
    first = points[0][0] if first is None else first
    last = points[-1][0] if last is None else last
    highest: list[float | None] = [None] * width
    for step, value in points:
        at = column(step, width, first, last)
        seen = highest[at]
        if seen is None or not math.isfinite(value) or (math.isfinite(seen) and value > seen):
            highest[at] = value
    finite = [reading for reading in highest if reading is not None and math.isfinite(reading)]
    finite += [value for _, value in beside if math.isfinite(value)]
    log = needs_log(name, finite)
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    drawn, held = "", " "
    for index, reading in enumerate(highest):
        if reading is not None:
            held = _bar(reading, low, high, log) if math.isfinite(reading) else GAP
        past_the_end = index > column(points[-1][0], width, first, last)
        drawn += " " if past_the_end else held
    return Sparkline(drawn, log)


def column(step: int, width: int, first: int, last: int) -> int:
    """Where in a line of `width` characters a step falls."""
    if last <= first:
        return 0
    return min(width - 1, max(0, (step - first) * width // (last - first + 1)))


def needs_log(name: str, finite: Sequence[float]) -> bool:
    """Whether half of the curve would lie in the lowest bar of a linear axis, and a logarithmic one shows more.

    Never for a learning rate: schedules are drawn, and recognised, on a linear axis.
    """
    if not finite or min(finite) <= 0 or name.split("/")[0] == "lr":
        return False
    low, high = min(finite), max(finite)
    spans = math.log10(high) - math.log10(low) >= DECADES_FOR_LOG
    return spans and height(median(finite), low, high, log=False) < 1 / len(BARS)


def height(value: float, low: float, high: float, log: bool) -> float:
    """Where between `low` (0) and `high` (1) a value stands; halfway when the curve is flat."""
    if high <= low:
        return 0.5
    if log:
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    scale = max(abs(low), abs(high))  # a range of ±1e308 would overflow when subtracted
    return (value / scale - low / scale) / (high / scale - low / scale)


def _bar(value: float, low: float, high: float, log: bool) -> str:
    return BARS[min(len(BARS) - 1, int(height(value, low, high, log) * len(BARS)))]
