"""One vital over time: the steps at which it was read, and what was read.

A missing reading is simply not there; NaN and ±inf in `values` were really seen. That difference is the
most important one in the house: a blank cell is nothing, a NaN loss is the end of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bedside.record.median import median

Steps = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Series:
    """`values[i]` of `vital` (of `owner`, if it is per module, group or category) was read at `steps[i]`.

    `steps` is strictly increasing: stores and readers put duplicates and restarts right before they get here.
    """

    vital: str
    owner: str = ""
    steps: Steps = field(default_factory=lambda: np.empty(0, np.int64))
    values: Values = field(default_factory=lambda: np.empty(0, np.float64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", np.asarray(self.steps, np.int64))
        object.__setattr__(self, "values", np.asarray(self.values, np.float64))
        if self.steps.shape != self.values.shape:
            raise ValueError(f"{self.key}: {len(self.steps)} steps but {len(self.values)} values")

    def __repr__(self) -> str:
        """One line, for notebooks: the numbers are in `steps` and `values`."""
        if not self:
            return f"<Series {self.key}: no readings>"
        ends = f"{float(self.values[0]):.4g} to {self.last:.4g}"
        return f"<Series {self.key}: {len(self)} readings, steps {self.first_step} to {self.last_step}, {ends}>"

    def __len__(self) -> int:
        return len(self.steps)

    def __bool__(self) -> bool:
        return len(self.steps) > 0

    @property
    def key(self) -> str:
        """`grad_norm/layers.0`, or plain `loss` when nobody owns it."""
        return f"{self.vital}/{self.owner}" if self.owner else self.vital

    def finite(self) -> Series:
        """Without the NaN and infinite readings."""
        return self if self._cleaned is None else self._cleaned

    @cached_property
    def _cleaned(self) -> Series | None:
        """The finite readings where others are among them; worked out once, since many rules ask."""
        good = np.isfinite(self.values)
        return None if good.all() else self._where(good)

    def since(self, step: int) -> Series:
        return self._slice(int(np.searchsorted(self.steps, step, "left")), len(self))

    def before(self, step: int) -> Series:
        return self._slice(0, int(np.searchsorted(self.steps, step, "left")))

    def head(self, n: int) -> Series:
        return self._slice(0, n)

    def tail(self, n: int) -> Series:
        return self._slice(max(0, len(self) - n), len(self))

    def thinned(self, most: int) -> Series:
        """About `most` of the readings, for drawing: the lowest and the highest of each part, so that a spike or
        a NaN of one step is still there, and both ends."""
        if len(self) <= most:
            return self
        kept = {0, len(self) - 1}
        for part in np.array_split(np.arange(len(self)), max(1, most // 2)):
            values = self.values[part]
            kept |= {int(part[np.argmin(values)]), int(part[np.argmax(values)])}  # a NaN is both
        index = np.asarray(sorted(kept))
        return Series(self.vital, self.owner, self.steps[index], self.values[index])

    def median(self, window: int | None = None) -> float:
        """Median of the last `window` finite readings (all of them by default); NaN if there are none."""
        values = self.finite().values
        if window is not None:
            values = values[-window:]
        return median(values) if len(values) else float("nan")

    @property
    def first_step(self) -> int:
        return int(self.steps[0])

    @property
    def last_step(self) -> int:
        return int(self.steps[-1])

    @property
    def last(self) -> float:
        return float(self.values[-1])

    def _slice(self, start: int, stop: int) -> Series:
        return Series(self.vital, self.owner, self.steps[start:stop], self.values[start:stop])

    def _where(self, mask: NDArray[np.bool_]) -> Series:
        return Series(self.vital, self.owner, self.steps[mask], self.values[mask])
