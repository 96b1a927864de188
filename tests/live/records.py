"""Records that grow, for the tests of the live page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bedside.record.sqlite.writer import Store

COLUMNS = [("loss", ""), ("lr", ""), ("grad_norm", ""), ("grad_norm", "front"), ("grad_norm", "back")]


class GrowingRecord:
    """A run that a test writes, some steps at a time, as a monitor would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store.create(folder)
        self.store.config({"classes": 10})
        self._set = self.store.declare("scalars", COLUMNS, "f8")
        self.steps = 0

    def grow(self, steps: int, loss: float | None = None) -> None:
        at = np.arange(self.steps, self.steps + steps)
        losses = 2.3 * np.exp(-at / 100) + 0.01 * np.sin(at) if loss is None else np.full(steps, loss)
        rows = np.column_stack([losses, np.full(steps, 0.1), np.ones(steps), np.full(steps, 0.4), np.full(steps, 0.9)])
        self.store.rows(self._set, at, at * 1.0, rows)
        self.store.commit()
        self.steps += steps

    def close(self, finished: bool | None = True) -> None:
        self.store.close(finished)
