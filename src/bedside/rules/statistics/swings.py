"""How often a curve goes up again after it had come down: all the way, or by a given height."""

from __future__ import annotations

import numpy as np

from bedside.record.series import Values


def swings(values: Values, low: float | Values, high: float | Values) -> list[int]:
    """Indices at which the curve reaches `high` after having been at or below `low` since the last time.

    The two levels keep small wiggles from counting; either may be one number or one for each reading.
    """
    lows, highs = np.broadcast_to(low, values.shape), np.broadcast_to(high, values.shape)
    found: list[int] = []
    down = False
    for i in np.flatnonzero((values <= lows) | (values >= highs)):
        if values[i] <= lows[i]:
            down = True
        elif down:
            found.append(int(i))
            down = False
    return found


def sways(values: Values, by: float) -> list[int]:
    """Indices at which the curve has risen by `by` above its lowest since the last time, and later came down as far."""
    found: list[int] = []
    low, high, risen = float("inf"), float("-inf"), -1
    for i, value in enumerate(values):
        if risen < 0:
            low = min(low, float(value))
            if value - low >= by:
                high, risen = float(value), i
        else:
            high = max(high, float(value))
            if high - value >= by:
                found.append(risen)
                low, risen = float(value), -1
    return found
