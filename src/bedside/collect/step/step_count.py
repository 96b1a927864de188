"""How many steps there were. Those on the fast path count before they are put with the others."""

from __future__ import annotations

from bedside.collect.step.fast_path import FastPath


class StepCount:
    """Counts from the first step of this recording; after a resume that is not 0."""

    def __init__(self, first: int, fast_path: FastPath) -> None:
        self.settled = first  # the number of the step after those whose data was handed on
        self._fast_path = fast_path

    @property
    def next(self) -> int:
        """The number of the step that is under way, or comes next."""
        return self.settled + len(self._fast_path)
