"""All collectors of a run: who is notified of which moment, who observes this step, and who was switched off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bedside.collect.collector import MOMENTS, Collector, WatchContext, overrides
from bedside.collect.sampling.budget import Budget
from bedside.collect.sampling.intervals import Intervals
from bedside.errors import pass_on_interrupts

Failed = Callable[[Collector, Exception], None]
Make = Callable[[WatchContext], Collector]  # the class, or whatever else makes one


class CollectorSet:
    """One collector that fails is switched off, and `failed` is notified; the others go on."""

    def __init__(self, collectors: Sequence[Make], context: WatchContext, failed: Failed) -> None:
        self._context = context
        self._on_failure = failed
        self._members = [make(context) for make in collectors]
        self._handlers = {
            moment: [(each, getattr(each, moment)) for each in self._members if overrides(each, moment)]
            for moment in MOMENTS
        }
        self._attached: list[Collector] = []

    def __iter__(self) -> Iterator[Collector]:
        return iter(list(self._members))

    def __bool__(self) -> bool:
        return bool(self._members)

    @property
    def attached(self) -> Sequence[Collector]:
        """Those that observe the step that is under way."""
        return self._attached

    @property
    def sampled(self) -> list[str]:
        """The vital groups that have an interval."""
        return [collector.name for collector in self._members if collector.sampled]

    @property
    def needs_every_step(self) -> bool:
        return any(collector.needs_every_step for collector in self._members)

    def is_handled(self, moment: str) -> bool:
        return bool(self._handlers[moment])

    def notify(self, moment: str, *what: Any) -> None:
        """Let those that want to hear of this moment hear of it."""
        for collector, handler in self._handlers[moment]:
            began = time.perf_counter()
            try:
                handler(*what)
            except Exception as error:
                pass_on_interrupts(error)
                self.failed(collector, error)
            collector.moment_seconds += time.perf_counter() - began

    def attach(self, step: int, intervals: Intervals) -> None:
        """This step begins: collectors that are due observe it."""
        for collector in self:
            due = collector.sampled and step % collector.min_interval == 0 and intervals.due(collector.name, step)
            if due and self.safely(collector, lambda c: c.attach(step)):
                self._attached.append(collector)

    def detach(self, step: int, budget: Budget) -> None:
        """It is over: what was observed is put on the device queue, and what that took into the books."""
        attached, self._attached = self._attached, []
        for collector in attached:
            began = time.perf_counter()
            self.safely(collector, lambda c: c.detach(step))
            in_hooks, collector.hook_seconds = collector.hook_seconds, 0.0
            budget.total += in_hooks  # the rest is timed around the step's own hook
            budget.add(collector.name, in_hooks + collector.moment_seconds + time.perf_counter() - began)

    def next_step(self) -> None:
        for collector in self._members:
            collector.moment_seconds = 0.0

    def each(self, call: Callable[[Collector], None]) -> None:
        """Ask all of them something."""
        for collector in self:
            self.safely(collector, call)

    def safely(self, collector: Collector, call: Callable[[Collector], None]) -> bool:
        try:
            call(collector)
        except Exception as error:
            pass_on_interrupts(error)
            self.failed(collector, error)
            return False
        return True

    def failed(self, collector: Collector, error: Exception) -> None:
        if collector not in self._members:
            return
        self._members.remove(collector)
        for moment, handling in self._handlers.items():
            self._handlers[moment] = [(each, handler) for each, handler in handling if each is not collector]
        try:
            collector.end()
        except Exception as another:
            pass_on_interrupts(another)
        self._on_failure(collector, error)
