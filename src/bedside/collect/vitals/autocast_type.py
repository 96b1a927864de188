"""The number type that training forwards are cast to (`autocast`), once it is seen: float16 ends at 65,504."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bedside.collect.collector import Collector, WatchContext

if TYPE_CHECKING:
    from bedside.collect.hooks.called_modules import Forward


class AutocastType(Collector):
    """Records `autocast`, once."""

    name = "autocast"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._done = False

    def forward_begins(self, forward: Forward) -> None:
        if not self._done and forward.grad and forward.autocast:
            self._done = True
            self.context.facts["autocast"] = str(forward.autocast[0][1]).removeprefix("torch.")
