"""When the task itself changes: inputs of another shape (a curriculum), or another optimizer that takes over.

A loss that leaps there is another loss, and a gradient that grows there is another gradient. Recorded once for each
change that lasts; a shape that changes all the time (sentences of any length) is not a change of task.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from torch.optim import Optimizer

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.vitals.inputs import first_input
from bedside.record.run import Event

MIN_STEADY_STEPS = 10  # steps of one optimizer alone that make a stretch
MAX_EVENTS = 4  # of inputs of one shape: on the fast path one step in many is looked at
MAX_CHANGES = 20  # changes: more are the way the data come


class TaskChanges(Collector):
    """Follows the shape of the first input, without the batch, and which optimizer steps."""

    name = "task changes"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._shape = SteadyValue("input shape", MAX_EVENTS)
        self._optimizer = SteadyValue("optimizer", MIN_STEADY_STEPS)
        self._several = len(context.optimizers) > 1
        self._news: list[Event] = []

    def forward_begins(self, forward: Forward) -> None:
        if not forward.grad or forward.validating or self._shape.changes >= MAX_CHANGES:
            return
        batch = first_input((forward.args, forward.kwargs))
        if batch is not None:
            self._shape.add(str(list(batch.shape[1:])), self.context.step, self._news)

    def step_ended(self, optimizer: Optimizer, closure: bool) -> None:
        if self._several and self._optimizer.changes < MAX_CHANGES:
            number = next((i for i, each in enumerate(self.context.optimizers) if each is optimizer), -1)
            self._optimizer.add(str(number), self.context.step, self._news)

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news


class SteadyValue:
    """The same value, look after look; a change counts when the old and the new value each lasted."""

    def __init__(self, what: str, lasting: int) -> None:
        self.changes = 0
        self._what = what
        self._lasting = lasting
        self._settled: str | None = None  # the value of the last stretch that lasted
        self._last = 0  # step at which it was last seen
        self._value: str | None = None
        self._since = self._seen = 0

    def add(self, value: str, step: int, news: list[Event]) -> None:
        if value != self._value:
            self._value, self._since, self._seen = value, step, 0
        self._seen += 1
        if value == self._settled:
            self._last = step
        elif self._seen == self._lasting:
            if self._settled is not None:
                self.changes += 1
                facts = {"what": self._what, "before": self._settled, "after": value, "last_seen": self._last}
                news.append(Event(self._since, "task_change", facts, time.time()))
            self._settled, self._last = value, step
