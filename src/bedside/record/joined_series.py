"""Several parts of one series become one with strictly increasing steps; where they overlap, the later wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bedside.record.series import Steps, Values

Scalar = TypeVar("Scalar", bound=np.generic)


def joined(parts: Sequence[tuple[Steps, Values]]) -> tuple[Steps, Values]:
    """The parts in the order they were written, as one series."""
    parts = [part for part in parts if len(part[0])]
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    if len(parts) == 1:
        return parts[0]
    steps = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts])
    if (np.diff(steps) > 0).all():
        return steps, values
    order = np.argsort(steps, kind="stable")  # stable: of two readings at one step the later written comes last
    steps, values = steps[order], values[order]
    last = np.append(steps[1:] != steps[:-1], True)
    return steps[last], values[last]


def end_to_end(parts: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    """The parts one after the other; the array itself if there is only one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
