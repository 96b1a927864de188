"""Is the data loader started anew for every batch? Then only its first batch is ever seen.

`next(iter(loader))` inside the loop makes a new iterator each time. Where the first batches of a run are one and the
same, it is counted for a few steps how often a loader is started: once for every training forward, although it has more
than one batch to give, is that mistake, and neither training on one full batch nor on one that was drawn on purpose.

The one function that is replaced for it, `DataLoader.__iter__`, is put back after those steps.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

from torch.optim import Optimizer
from torch.utils.data import DataLoader

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.replacement import Replacement
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.inputs import fingerprint, first_input
from bedside.record.run import Event

ALIKE = 5  # first batches that are the same: by chance not even two are
FORWARDS = 10  # over which starts are counted
SHARE = 0.9  # of them begin with a start
# Loops that start a loader for one batch on purpose (overfit_batches=1), and are not written by the user.
NOT_THE_USER = frozenset(["accelerate", "composer", "ignite", "lightning", "lightning_fabric", "pytorch_lightning"])

_LISTENING: list[RestartedLoader] = []


class RestartedLoader(Collector):
    """Compares the first batches; counts starts of loaders only if these are all the same."""

    name = "restarted loader"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._marks: list[PendingValue] = []
        self._done = False
        self._started = 0  # how many batches the loader has that was started since the last forward; 0: none was
        self._batches = self._starts = self._forwards = 0
        self._news: list[Event] = []

    def forward_begins(self, forward: Forward) -> None:
        if self._done:
            return
        if forward.validating or not forward.grad:
            self._started = 0  # that loader was for an evaluation
        elif self.needs_every_step:
            self._count()
        elif len(self._marks) < ALIKE:
            batch = first_input((forward.args, forward.kwargs))
            if batch is None:
                self._done = True
            else:
                self._marks.append(self.queue.put(fingerprint(batch)))

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        if not self._done and not self.needs_every_step:
            self._compare()

    def events(self) -> Iterable[Event]:
        if not self._done and not self.needs_every_step:
            self._compare()  # marks that came from a device
        news, self._news = self._news, []
        return news

    def end(self) -> None:
        self._done, self.needs_every_step = True, False
        if self in _LISTENING:
            if len(_LISTENING) == 1:
                _STARTS.remove()
            _LISTENING.remove(self)

    def started(self, loader: DataLoader[Any], by: str) -> None:
        """A loader is started by a function of this module."""
        if by.partition(".")[0] not in NOT_THE_USER:
            try:
                self._started = len(loader)
            except TypeError:  # a stream of unknown length may begin anew as it likes
                self._started = 0

    def _compare(self) -> None:
        marks = [mark.number for mark in self._marks if hasattr(mark, "numbers")]
        if any(mark != marks[0] for mark in marks):
            self._done = True
        elif len(marks) >= ALIKE:
            self.needs_every_step = True
            _listen(self)

    def _count(self) -> None:
        self._forwards += 1
        if self._started > 1:
            self._starts += 1
            self._batches = self._started
        self._started = 0
        if self._forwards == FORWARDS:
            if self._starts >= SHARE * FORWARDS:
                facts = {"batches": self._batches, "starts": self._starts, "forwards": FORWARDS}
                self._news.append(Event(self.context.step, "restarted_loader", facts, time.time()))
            self.end()


def _listen(collector: RestartedLoader) -> None:
    _LISTENING.append(collector)
    _STARTS.install()


def _observed(original: Any) -> Any:
    def __iter__(loader: DataLoader[Any]) -> Any:  # noqa: N807  (it stands in for one)
        by = sys._getframe(1).f_globals.get("__name__", "")
        for collector in _LISTENING:
            collector.started(loader, by)
        return original(loader)

    return __iter__


_STARTS = Replacement(DataLoader, "__iter__", _observed)
