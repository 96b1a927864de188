"""Parameters that two optimizers hold: right where one takes over from the other, a slip where one should hold others.

`torch.optim.Adam(discriminator.parameters())` written twice leaves the generator without an optimizer, and nothing
fails. Looked at once, at the first step.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from torch.optim import Optimizer

from bedside.collect.collector import Collector, WatchContext
from bedside.record.run import Event


class SharedParameters(Collector):
    """Compares what the optimizers hold."""

    name = "shared parameters"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._done = len(context.optimizers) < 2
        self._news: list[Event] = []

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        if self._done:
            return
        self._done = True
        held = [{id(p) for group in each.param_groups for p in group["params"]} for each in self.context.optimizers]
        shared = [(i, j, held[i] & held[j]) for i in range(len(held)) for j in range(i) if held[i] & held[j]]
        if shared:
            later, earlier, both = shared[0]
            facts = {"tensors": len(both), "optimizers": [earlier, later], "all": held[later] == held[earlier]}
            self._news.append(Event(self.context.step, "shared_parameters", facts, time.time()))

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news
