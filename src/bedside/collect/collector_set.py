"""All collectors of a run: who is told of which moment, who listens to this step, and who was switched off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from bedside.collect.collector import MOMENTS, Collector, Patient
from bedside.collect.sampling.budget import Governor
from bedside.collect.sampling.intervals import Cadence

Failed = Callable[[Collector, Exception], None]


class Ensemble:
    """One collector that fails is switched off, and `failed` is told; the others go on."""

    def __init__(self, collectors: Sequence[type[Collector]], patient: Patient, failed: Failed) -> None:
        self._patient = patient
        self._told_failed = failed
        self._members = [make(patient) for make in collectors]
        self._hears = {
            moment: [(c, hear) for c in self._members if (hear := getattr(c, moment)) is not None] for moment in MOMENTS
        }
        self._attached: list[Collector] = []

    def __iter__(self) -> Iterator[Collector]:
        return iter(list(self._members))

    def __bool__(self) -> bool:
        return bool(self._members)

    @property
    def attached(self) -> Sequence[Collector]:
        """Those that listen to the step that is under way."""
        return self._attached

    @property
    def sampled(self) -> list[str]:
        """The vital groups that have a cadence."""
        return [collector.name for collector in self._members if collector.sampled]

    @property
    def tireless(self) -> bool:
        return any(collector.tireless for collector in self._members)

    def wants(self, moment: str) -> bool:
        return bool(self._hears[moment])

    def tell(self, moment: str, *what: Any) -> None:
        """Let those that want to hear of this moment hear of it."""
        for collector, hear in self._hears[moment]:
            began = time.perf_counter()
            try:
                hear(*what)
            except Exception as error:
                self.failed(collector, error)
            collector.listened += time.perf_counter() - began

    def attach(self, step: int, cadence: Cadence) -> None:
        """This step begins: whoever is due listens to it."""
        for collector in self:
            due = collector.sampled and step % collector.apart == 0 and cadence.due(collector.name, step)
            if due and self.safely(collector, lambda c: c.attach(step)):
                self._attached.append(collector)

    def detach(self, step: int, governor: Governor) -> None:
        """It is over: what was heard is put on the freight, and what that took into the books."""
        attached, self._attached = self._attached, []
        for collector in attached:
            began = time.perf_counter()
            self.safely(collector, lambda c: c.detach(step))
            in_hooks, collector.spent = collector.spent, 0.0
            governor.total += in_hooks  # the rest is timed around the step's own hook
            governor.add(collector.name, in_hooks + collector.listened + time.perf_counter() - began)

    def next_step(self) -> None:
        for collector in self._members:
            collector.listened = 0.0

    def each(self, call: Callable[[Collector], None]) -> None:
        """Ask all of them something."""
        for collector in self:
            self.safely(collector, call)

    def safely(self, collector: Collector, call: Callable[[Collector], None]) -> bool:
        try:
            call(collector)
        except Exception as error:
            self.failed(collector, error)
            return False
        return True

    def failed(self, collector: Collector, error: Exception) -> None:
        if collector not in self._members:
            return
        self._members.remove(collector)
        for moment, hearing in self._hears.items():
            self._hears[moment] = [(each, hear) for each, hear in hearing if each is not collector]
        with suppress(Exception):
            collector.end()
        self._told_failed(collector, error)
