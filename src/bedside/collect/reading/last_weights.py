"""Weights of optimizers that take turns: one that did not step this time still has the weights that were read last
time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bedside.collect.model.parameter_layout import Layout

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]


class LastWeights:
    """Squared norms of all weights, as they were when they were last read."""

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._squares: Rows = np.zeros(0)
        self._known: Mask = np.zeros(0, bool)

    def fill_in(self, layout: Layout, weights: Rows, stepped: Mask | None) -> Mask | None:
        """Fill in what is known about parameters that no optimizer stepped, row by row; returns what is known, None for
        all."""
        if self._layout is not layout:
            self._layout = layout
            self._squares, self._known = np.zeros(len(layout)), np.zeros(len(layout), bool)
        if stepped is None:
            self._squares, self._known = weights[-1].copy(), np.ones(len(layout), bool)
            return None
        known = np.empty_like(stepped)
        for row, now, all_known in zip(weights, stepped, known, strict=True):
            row[~now] = self._squares[~now]
            self._squares = row
            self._known = self._known | now
            all_known[:] = self._known
        self._squares = self._squares.copy()
        return known
