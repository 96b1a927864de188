"""From the monitor to the sinks, in a background thread.

The training only puts what it has recorded into a bounded queue and never waits: when the queue is full, the numbers
are dropped and counted. Each sink may take a small share of the run's time (`SHARE`); a slow one gets fewer steps,
spread evenly, but always validation metrics and findings. A sink that keeps failing is left alone. At the end one line
says what was not delivered; the record has everything.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.finding import Finding
from bedside.record.histograms import KIND, Histogram
from bedside.record.missing import is_missing
from bedside.record.run import Event, Key
from bedside.sinks.sink import Ending, Sink
from bedside.sinks.tracker_names import tracker_name
from bedside.stderr import say

SHARE = 0.02  # of the run's time that one sink's calls may take
WAITING = 1000  # batches of numbers in the queue; a batch is what one flush of the monitor writes
MAX_FAILURES = 3  # in a row, after which a sink is left alone
PATIENCE = 10.0  # seconds that the end of a run waits for its trackers
GRACE = 2.0  # seconds that a sink may take besides, so that a short run arrives whole


@dataclass
class _Feed:
    """One sink and how it fares."""

    sink: Sink
    waiting: dict[int, dict[str, float]] = field(default_factory=dict)  # numbers by step, since the last flush
    spent: float = 0.0  # seconds in its calls
    calls: int = 0
    failures: int = 0
    error: str = ""
    written: int = 0
    thinned: int = 0  # steps left out because the sink is slow
    lost: int = 0  # because it failed

    @property
    def gone(self) -> bool:
        return self.failures >= MAX_FAILURES

    def chosen(self, seconds: float) -> list[int]:
        """Of the steps that wait, those that can be written in so many seconds: spread evenly, with the newest."""
        steps = sorted(self.waiting)
        usual = self.spent / self.calls if self.calls else 0.0
        room = len(steps) if usual * len(steps) <= seconds else int(seconds / usual)
        if room >= len(steps):
            return steps
        return [steps[len(steps) - 1 - n * len(steps) // room] for n in range(room)][::-1]


class Forwarding:
    """Takes what the recorder takes. Every method returns at once."""

    def __init__(self, sinks: Sequence[Sink], run_dir: Path, share: float = SHARE) -> None:
        self._feeds = [_Feed(sink) for sink in sinks]
        self._run_dir = run_dir
        self._share = share
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(WAITING)
        self._config: dict[str, Any] = {}
        self._opened = False
        self.dropped = 0  # numbers for which the queue was full
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="bedside sinks", daemon=True)
        self._thread.start()

    # What the recorder calls.

    def config(self, known: Mapping[str, Any]) -> None:
        self._put(lambda: self._config.update(known), 0)

    def rows(self, columns: Sequence[Key], steps: Sequence[int], values: NDArray[np.float64]) -> None:
        table = np.array(values)  # the monitor goes on to use its buffer
        self._put(lambda: self._take_rows(tuple(columns), list(steps), table), table.size)

    def metric(self, step: int, vital: str, value: float, owner: str = "") -> None:
        name = tracker_name(vital, owner, logged=True)
        if name is not None:
            self._put(lambda: self._take(step, {name: float(value)}, at_once=True), 1)

    def flushed(self) -> None:
        """All numbers of the steps so far have been handed over."""
        self._put(self._write_chosen, 0)

    def event(self, event: Event) -> None:
        if event.kind == KIND:
            self._put(lambda: self._take_histograms(event), 1)

    def finding(self, step: int, finding: Finding) -> None:
        self._put(lambda: self._each(lambda sink: sink.finding(step, finding)), 1)

    def close(self, ending: Callable[[], Ending]) -> dict[str, Any]:
        """Waits for the trackers, but not for ever. Returns what became of everything, for the record."""
        said = ending()
        deadline = time.monotonic() + PATIENCE
        self._queue_at_last(lambda: self._finish(said), deadline)
        self._queue_at_last(None, deadline)
        self._thread.join(max(0.0, deadline - time.monotonic()))
        late = self._thread.is_alive()
        outcome: dict[str, Any] = {"dropped": self.dropped}
        for feed in self._feeds:
            outcome[feed.sink.name] = {"steps": feed.written, "thinned": feed.thinned, "lost": feed.lost}
            if said_of := self._said_of(feed, late):
                outcome[feed.sink.name]["error"] = said_of
                say(f"bedside: {feed.sink.name}: {said_of}; the record has everything.")
        if self.dropped:
            say(f"bedside: {self.dropped} numbers were dropped: the queue to the sinks was full.")
        return outcome

    def _said_of(self, feed: _Feed, late: bool) -> str:
        if feed.error:
            return f"{feed.lost} steps were not delivered ({feed.error})"
        return f"still busy after {PATIENCE:.0f} s; no longer waited for" if late and feed.waiting else ""

    # The queue.

    def _put(self, work: Callable[[], None], numbers: int) -> None:
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            self.dropped += numbers

    def _queue_at_last(self, work: Callable[[], None] | None, deadline: float) -> None:
        try:
            self._queue.put(work, timeout=max(0.0, deadline - time.monotonic()))
        except queue.Full:  # a tracker hangs: its thread is a daemon and dies with the process
            return

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            try:
                work()
            except Exception as error:  # ours: a sink's own are caught where it is called
                for feed in self._feeds:
                    feed.error = feed.error or f"{type(error).__name__}: {error}"

    # What the thread does.

    def _take_rows(self, columns: Sequence[Key], steps: Sequence[int], values: NDArray[np.float64]) -> None:
        named = [(at, tracker_name(*key), bool(key[1])) for at, key in enumerate(columns)]
        kept = [(at, name, owned) for at, name, owned in named if name is not None]
        there = ~is_missing(values)
        for row, step in enumerate(steps):
            overall = {name: float(values[row, at]) for at, name, owned in kept if there[row, at] and not owned}
            modules = {name: float(values[row, at]) for at, name, owned in kept if there[row, at] and owned}
            self._take(int(step), overall, modules)

    def _take(
        self, step: int, values: Mapping[str, float], modules: Mapping[str, float] | None = None, at_once: bool = False
    ) -> None:
        for feed in self._feeds:
            given = {**values, **(modules or {})} if feed.sink.per_module else dict(values)
            if given and not feed.gone:
                feed.waiting.setdefault(step, {}).update(given)
                if at_once:
                    self._write(feed, step)

    def _take_histograms(self, event: Event) -> None:
        for of, owners in event.data.items():
            if isinstance(owners, Mapping):
                for owner, packed in owners.items():
                    histogram = Histogram.unpacked(packed, event.step)
                    name = f"{of}/{owner}"
                    self._each(lambda sink, name=name, it=histogram: sink.histogram(event.step, name, it))  # type: ignore[misc]

    def _write_chosen(self) -> None:
        allowed = GRACE + self._share * (time.monotonic() - self._began)
        for feed in self._feeds:
            for step in feed.chosen(allowed - feed.spent):
                self._write(feed, step)
            feed.thinned += len(feed.waiting)
            feed.waiting.clear()

    def _write(self, feed: _Feed, step: int) -> None:
        values = feed.waiting.pop(step, None)
        if not values or feed.gone:
            return
        if self._call(feed, lambda sink: sink.write(step, values)):
            feed.written += 1
        else:
            feed.lost += 1

    def _each(self, call: Callable[[Sink], None]) -> None:
        for feed in self._feeds:
            if not feed.gone:
                self._call(feed, call)

    def _call(self, feed: _Feed, call: Callable[[Sink], None]) -> bool:
        self._open()
        if feed.gone:
            return False
        began = time.monotonic()
        try:
            call(feed.sink)
        except Exception as error:
            feed.failures += 1
            feed.error = f"{type(error).__name__}: {error}".splitlines()[0]
            return False
        finally:
            feed.spent += time.monotonic() - began
            feed.calls += 1
        feed.failures = 0
        return True

    def _open(self) -> None:
        if self._opened:
            return
        self._opened = True
        for feed in self._feeds:
            try:
                feed.sink.open(self._run_dir, dict(self._config))
            except Exception as error:
                feed.failures, feed.error = MAX_FAILURES, f"{type(error).__name__}: {error}".splitlines()[0]

    def _finish(self, ending: Ending) -> None:
        self._write_chosen()
        self._each(lambda sink: sink.close(ending))
