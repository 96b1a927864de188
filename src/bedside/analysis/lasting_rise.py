"""How far a noisy curve is above its best, if that is not the luck of its last few readings.

The best of many noisy evaluations is a lucky one, and three in a row that are unlucky come now and then: where the
noise is a good part of the level, more than three have to be above the best.

>>> from bedside.analysis.statistics import outline
>>> calm = Series("val/loss", "", range(12), [2.0, 1.5, 1.2, 1.1, 1.0, 1.0, 1.01, 1.0, 1.02, 1.5, 1.5, 1.5])
>>> round(lasting_rise(calm, outline(calm)), 2)
0.5
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.analysis.statistics import Outline
from bedside.record.series import Series


@dataclass(frozen=True)
class Limits:
    restless: float = 0.1  # of the best level: the noise of small evaluation sets; of large ones it is a hundredth
    readings: int = 8  # that come one after the other on one side of a level by chance once in 256 times


LIMITS = Limits()
MIN_READINGS = 3  # the last few, as the level now is taken from; of a short series no more than its later half counts


def lasting_rise(series: Series, curve: Outline) -> float:
    """From the best level to the level now: of the last few readings, or of more where they are restless."""
    if curve.noise <= LIMITS.restless * abs(curve.best):
        return curve.now - curve.best
    return series.median(min(LIMITS.readings, max(MIN_READINGS, len(series) // 2))) - curve.best
