"""Everything recorded goes to two places: the record on disk, and the growing run that the live rules read; and to the
sinks, if there are any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.errors import pass_on_interrupts
from bedside.finding import Finding
from bedside.monitor.shared_numbers import SharedNumbers
from bedside.naming.whole_run import settle
from bedside.record.across_ranks import weight_of
from bedside.record.live_run import GrowingRun
from bedside.record.run import Event, Key, Parameter, Run
from bedside.record.secrets import without_secrets
from bedside.record.sqlite.reader import open_run, replay
from bedside.record.sqlite.writer import Store
from bedside.sinks.forwarding import Forwarding
from bedside.sinks.sink import Ending
from bedside.stderr import say

CLOCK: Key = ("step_time", "")  # every watched step has it
STEP_VITALS = frozenset("loss lr grad_norm grad_norm_clipped param_norm loss_scale skipped".split())


class Recorder:
    """Takes rows, single numbers, events and facts; what was recorded before a resume is in both places too."""

    def __init__(self, store: Store, rank: int, first_step: int | None = None) -> None:
        self.run_dir = store.path.parent
        self.first_step = store.last_step + 1 if first_step is None else first_step
        self._resumed = store.segment > 0
        self._store = store
        self._rank = rank
        self._growing = GrowingRun(str(self.run_dir))
        self.forwarding: Forwarding | None = None
        self._shared: SharedNumbers | None = None

    def join_ranks(self, described: Mapping[str, Any]) -> None:
        """This is one of several ranks: write down, at every start, what the others need to know about it."""
        self._shared = SharedNumbers(self.run_dir, self._rank, sharded=bool(described["sharded"]))
        self.event(self.first_step, "ranks", described)

    def pick_up(self) -> None:
        """Add the other ranks' shares of common numbers to where this rank's own numbers go."""
        if self._shared is not None and self._rank == 0:
            self._store.commit()
            self._shared.pick_up(self._whole_rows, lambda step, key, value: self._show(step, *key, value))

    def replay(self) -> None:
        """Replay what a resumed run recorded earlier."""
        if self._resumed and self.first_step > 0:
            shared = self._shared.takes if self._shared is not None else lambda columns: False
            replay(self.run_dir, self._growing, self._rank, before=self.first_step, shared=shared)

    def view(self) -> Run:
        """The run as it grows, in memory; on rank 0 beside what the other ranks recorded lately."""
        run = self._growing.run()
        return settle(run if self._shared is None or self._rank else self._shared.beside(run))

    def recorded(self) -> Run:
        """The run as it is on disk; as it is in memory if the disk is behind or the file is gone."""
        if self._store.behind or self._store.displaced:
            return self.view()
        return settle(open_run(self.run_dir, self._rank))

    def rows(
        self,
        name: str,
        columns: Sequence[Key],
        steps: list[int],
        times: list[float],
        values: NDArray[np.float64],
        dtype: str,
    ) -> None:
        keys, at = tuple(columns), np.asarray(steps, np.int64)
        self._store.rows(self._store.declare(name, keys, dtype), at, times, values)
        if self._shared is None or not self._shared.takes(keys):
            self._whole_rows(keys, steps, values)

    def _whole_rows(self, keys: tuple[Key, ...], steps: list[int], values: NDArray[np.float64]) -> None:
        self._growing.append(keys, np.asarray(steps, np.int64), values)
        if self.forwarding is not None:
            self.forwarding.rows(keys, steps, values)

    def has(self, key: Key) -> bool:
        """Whether the monitor itself reads this series, step by step (before the first rows: whether it would)."""
        return key[0] in STEP_VITALS and (self._growing.has_rows(key) or not self._growing.has_rows(CLOCK))

    def logged(self, step: int, key: Key, value: float, samples: float | None = None) -> None:
        """One number that the user logged; with `samples`, the mean of so many, to be averaged over all ranks."""
        if samples is None or self._shared is None:
            self.metric(step, key[0], value, key[1])
            return
        self._store.metric(step, key[0], value, key[1])
        weight, name = weight_of(key)
        self._store.metric(step, weight, samples, name)
        self._shared.takes_metric(key)

    def metric(self, step: int, vital: str, value: float, owner: str = "", *, live: bool = True) -> None:
        """One number; not `live`: there are too many of its kind to keep in memory."""
        self._store.metric(step, vital, value, owner)
        self._show(step, vital, owner, value, live=live)

    def _show(self, step: int, vital: str, owner: str, value: float, *, live: bool = True) -> None:
        if live:
            self._growing.metric(step, vital, value, owner)
        if self.forwarding is not None:
            self.forwarding.metric(step, vital, value, owner)

    def event(self, step: int, kind: str, data: Mapping[str, Any]) -> None:
        self.happened(Event(step=step, kind=kind, data=dict(data), time=time.time()))

    def happened(self, event: Event) -> None:
        self._store.event(event)
        self._growing.event(event)
        if self.forwarding is not None:
            self.forwarding.event(event)

    def facts(self, known: Mapping[str, Any]) -> None:
        """What is known about the run, for its config."""
        if known:
            known = without_secrets(known)
            self._store.config(known)
            self._growing.config = {**self._growing.config, **known}
            if self.forwarding is not None:
                self.forwarding.config(known)

    def parameters(self, table: Sequence[Parameter]) -> None:
        self._store.parameters(table)
        self._growing.parameters = table

    def finding(self, step: int, finding: Finding) -> None:
        self._store.finding(step, finding)
        if self.forwarding is not None:
            self.forwarding.finding(step, finding)

    def end_forwarding(self, step: int, ending: Callable[[], Ending]) -> None:
        """Record what became of everything sent to the sinks; a failure there must not reach the user."""
        forwarding, self.forwarding = self.forwarding, None
        if forwarding is not None:
            try:
                self.event(step, "sinks", forwarding.close(ending))
            except Exception as error:
                pass_on_interrupts(error)
                say(f"bedside: the sinks were not closed ({type(error).__name__}: {error})")

    def commit(self) -> None:
        self._store.commit()

    def commit_if_due(self) -> None:
        if self.forwarding is not None:
            self.forwarding.flushed()
        self._store.commit_if_due()

    def close(self, finished: bool | None) -> None:
        self._store.close(finished=finished)
