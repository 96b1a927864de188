"""Statistics that several rules ask of the same curve, kept: four of them ask for the outline of the same loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from bedside.record.series import Values

KEPT = 20_000  # readings of a curve that is remembered: four of them in each memory are half a megabyte
MEMORY = 4  # curves: the loss, the validation loss, the gradient norm, and one on the way
P = ParamSpec("P")
T = TypeVar("T")


def kept(function: Callable[Concatenate[Values, P], T]) -> Callable[Concatenate[Values, P], T]:
    """`function` of a curve, worked out once while rules take turns at the same curve. What it returns is shared."""

    plain: Callable[..., T] = function

    @lru_cache(maxsize=MEMORY)
    def remembered(raw: bytes, args: tuple[Any, ...]) -> T:
        return plain(np.frombuffer(raw, np.float64), *args)

    @wraps(function)
    def cached(values: Values, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if len(values) > KEPT or values.dtype != np.float64 or kwargs:
            return function(values, *args, **kwargs)
        return remembered(values.tobytes(), args)

    return cached
