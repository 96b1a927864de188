"""How often a curve goes all the way up again after it had come down."""

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
