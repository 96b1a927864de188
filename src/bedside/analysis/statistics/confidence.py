"""How sure to be that something is beyond its limit."""

from __future__ import annotations

import math

MAX_CONFIDENCE = 0.99  # a curve alone never proves a cause


def how_sure(value: float, limit: float, most: float = MAX_CONFIDENCE) -> float:
    """One half at the limit, three quarters at twice the limit, nine tenths at five times, never certain."""
    if limit <= 0 or math.isinf(value):
        return most
    if math.isnan(value) or value <= 0:
        return 0.0
    ratio = value / limit
    return min(most, 1 - 0.5 / ratio) if ratio >= 1 else 0.5 * ratio
