"""How often a curve goes up again after it had come down: all the way, or by a given height."""

from __future__ import annotations

import numpy as np

from bedside.record.series import Values


def swings(values: Values, low: float | Values, high: float | Values) -> list[int]:
    """Indices at which the curve reaches `high` after having been at or below `low` since the last time.

    The two levels keep small wiggles from counting; either may be one number or one for each reading.
    """
    down = values <= low
    turns = np.flatnonzero(down | (values >= high))
    was_down = down[turns]
    return [int(i) for i in turns[1:][was_down[:-1] & ~was_down[1:]]]


def sways(values: Values, by: float) -> list[int]:
    """Indices at which the curve has risen by `by` above its lowest since the last time, and later came down as far."""
    found: list[int] = []
    low, high, risen = float("inf"), float("-inf"), -1
    for i, value in enumerate(values.tolist()):
        if risen < 0:
            low = min(low, value)
            if value - low >= by:
                high, risen = value, i
        else:
            high = max(high, value)
            if high - value >= by:
                found.append(risen)
                low, risen = value, -1
    return found
