"""Changes to a record that are not on disk yet: in order, to be applied again if a commit fails, and bounded.

A commit that fails (a full disk, a quota, a network drive that went away) is rolled back as a whole. What it should
have written stays here and goes with the next one that succeeds. While none does, memory is bounded: beyond
`MAX_BYTES_WAITING` the oldest numbers are dropped, and the record says later which steps are missing. What the rest
depends on (a table, the name of a series) is never dropped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MAX_BYTES_WAITING = 2**26  # kept while nothing can be written: hours of most models' steps, no burden to a machine
KEPT = 0.75  # of that stays when the oldest are dropped, so that this happens now and then and not at each step
OVERHEAD = 500  # bytes that a change takes beside its numbers

Apply = Callable[[sqlite3.Connection], object]


@dataclass(frozen=True, slots=True)
class Change:
    """One change; `steps` are the first and last step that are lost with it, None if it may not be lost."""

    apply: Apply
    size: int
    steps: tuple[int, int] | None = None


class Unsaved:
    """The changes since the last commit that succeeded."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._size = 0
        self.dropped: tuple[int, int] | None = None  # the first and last step of what did not fit

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self._changes)

    def add(self, apply: Apply, size: int = 0, steps: tuple[int, int] | None = None) -> None:
        self._changes.append(Change(apply, size + OVERHEAD, steps))
        self._size += size + OVERHEAD

    def saved(self) -> None:
        """All of them are on disk."""
        self._changes, self._size, self.dropped = [], 0, None

    def trim(self) -> None:
        """Drop the oldest numbers if there are too many."""
        if self._size <= MAX_BYTES_WAITING:
            return
        kept: list[Change] = []
        for change in self._changes:
            if change.steps is None or self._size <= KEPT * MAX_BYTES_WAITING:
                kept.append(change)
                continue
            self._size -= change.size
            first, last = self.dropped or change.steps
            self.dropped = (min(first, change.steps[0]), max(last, change.steps[1]))
        self._changes = kept
