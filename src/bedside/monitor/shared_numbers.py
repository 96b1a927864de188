"""Numbers that only all ranks know together, picked up by rank 0 from the files of the others while the run goes on.

Norms of sharded parameters and metrics logged with `reduce=True` are written by every rank as its share. They are not
sent anywhere: when rank 0 is about to run the rules, it reads what has come in since the last time, and adds it up for
its live view and for the sinks. A rank that is late, dead or on another disk makes numbers late or absent, but no rank
ever waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bedside.errors import BedsideError
from bedside.record.across_ranks import SHARDED
from bedside.record.missing import MISSING
from bedside.record.run import Key, Run
from bedside.record.sqlite.reader import beside_other_ranks, open_newest

COMPARED_STEPS = 2000  # of every rank, for live rules: what a look costs must not grow with the run

Rows = Callable[[tuple[Key, ...], list[int], NDArray[np.float64]], None]
Metric = Callable[[int, Key, float], None]


class SharedNumbers:
    """Knows what is shared, and how much of it has been picked up."""

    def __init__(self, run_dir: Path, rank: int, *, sharded: bool) -> None:
        self._run_dir = run_dir
        self._rank = rank
        self._sharded = sharded
        self._tables: dict[tuple[Key, ...], int] = {}  # the last step that was picked up
        self._metrics: dict[Key, int] = {}

    def takes(self, columns: tuple[Key, ...]) -> bool:
        """Whether these rows are only a share of what they stand for."""
        if not self._sharded or columns[0][0] not in SHARDED:
            return False
        self._tables.setdefault(columns, -1)
        return True

    def takes_metric(self, key: Key) -> None:
        self._metrics.setdefault(key, -1)

    def beside(self, live: Run) -> Run:
        """The live view, with the latest of what rules compare between ranks."""
        return beside_other_ranks(live, self._run_dir, max(0, live.steps - COMPARED_STEPS))

    def pick_up(self, rows: Rows, metric: Metric) -> None:
        """Pass on everything that all ranks have written since the last time."""
        if not self._tables and not self._metrics:
            return
        since = min((*self._tables.values(), *self._metrics.values())) + 1
        with suppress(BedsideError, OSError):  # a rank whose file is not whole yet: the next time, then
            run = open_newest(self._run_dir, max(since, 0), self._rank)
            for columns, last in self._tables.items():
                for steps, values in _rows_after(run, columns, last):
                    rows(columns, steps, values)
                    self._tables[columns] = steps[-1]
            for key, last in self._metrics.items():
                news = run.series(*key).since(last + 1)
                for step, value in zip(news.steps.tolist(), news.values.tolist(), strict=True):
                    metric(step, key, value)
                    self._metrics[key] = step


def _rows_after(run: Run, columns: Sequence[Key], last: int) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
    """The readings of these columns after a step, as rows with MISSING where there is none; nothing if there are no."""
    run.fetch(columns)
    news = [run.series(*key).since(last + 1) for key in columns]
    steps = np.unique(np.concatenate([each.steps for each in news]))
    if len(steps):
        values = np.full((len(steps), len(columns)), MISSING)
        for column, each in enumerate(news):
            values[np.searchsorted(steps, each.steps), column] = each.values
        yield steps.tolist(), values
