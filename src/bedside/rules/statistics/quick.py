"""Medians of short arrays without numpy's ceremony, and statistics that several rules ask of the same curve, kept.

A diagnosis asks for some hundred medians of a few dozen readings each, and four rules ask for the outline of the
same loss. On a tree of thousands of runs that is most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from bedside.record.series import Values

SHORT = 4_000  # readings: up to here sorting costs less than np.median's own overhead
KEPT = 20_000  # readings of a curve that is remembered: four of them in each memory are half a megabyte
MEMORY = 4  # curves: the loss, the validation loss, the gradient norm, and one on the way
P = ParamSpec("P")
T = TypeVar("T")


def median(values: Values) -> float:
    """`float(np.median(values))` of a flat array; NaN if one of them is, or if there are none."""
    n = len(values)
    if n == 0 or n > SHORT:
        return float(np.median(values))
    ordered = np.sort(values)
    last = float(ordered[-1])
    if last != last:  # NaN is sorted to the end
        return last
    return float(ordered[n // 2]) if n % 2 else (float(ordered[n // 2 - 1]) + float(ordered[n // 2])) / 2


def kept(function: Callable[Concatenate[Values, P], T]) -> Callable[Concatenate[Values, P], T]:
    """`function` of a curve, worked out once while rules take turns at the same curve. What it returns is shared."""

    plain: Callable[..., T] = function

    @lru_cache(maxsize=MEMORY)
    def remembered(raw: bytes, args: tuple[Any, ...]) -> T:
        return plain(np.frombuffer(raw, np.float64), *args)

    @wraps(function)
    def asked(values: Values, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if len(values) > KEPT or values.dtype != np.float64 or kwargs:
            return function(values, *args, **kwargs)
        return remembered(values.tobytes(), args)

    return asked
