"""Is dropout active in evaluation? `F.dropout(x)` drops by default, whatever mode the module is in.

The first evaluation forwards (evaluation mode, no gradients) are observed: a dropout function that is called there with
a rate above zero and `training=True` makes every evaluation one of a different network. Attention that is given a
`dropout_p` does the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from torch import nn
from torch.nn import functional as F

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.function_calls import FunctionCalls
from bedside.collect.model.parameter_layout import plain_name
from bedside.record.run import Event

MAX_LOOKS = 4  # evaluation forwards: a network drops at each of them or at none
FUNCTIONS = tuple(
    (F, name) for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
)
ATTENTION = (F, "scaled_dot_product_attention")


class EvaluationDropout(Collector):
    """Watches the first evaluation forwards for active dropout."""

    name = "evaluation dropout"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._calls = FunctionCalls((*FUNCTIONS, ATTENTION), self._observed)
        self._looked = 0
        self._found: dict[str, tuple[str, float]] = {}  # where, and by what with which rate
        self._news: list[Event] = []

    def forward_begins(self, forward: Forward) -> None:
        evaluates = not forward.training and (forward.validating or not forward.grad)
        if not evaluates or self._looked >= MAX_LOOKS or self.context.forward_hooks.compiled:
            return
        self._looked += 1
        self._calls.on()

    def _observed(self, name: str, caller: nn.Module | None, args: Any, kwargs: Any, result: Any) -> None:
        if name == ATTENTION[1]:
            rate = kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0)
            drops = True
        else:
            rate = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
            drops = kwargs.get("training", args[2] if len(args) > 2 else True)
        if drops and isinstance(rate, int | float) and rate > 0:
            self._found.setdefault(self._name_of(caller), (name, float(rate)))

    def forward_ended(self, output: Any) -> None:
        self.end()
        if self._found:
            function, rate = next(iter(self._found.values()))
            facts = {"where": list(self._found)[:20], "function": function, "rate": rate}
            self._news.append(Event(self.context.step, "evaluation_dropout", facts, time.time()))
            self._looked, self._found = MAX_LOOKS, {}

    def end(self) -> None:
        self._calls.off()

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news

    def _name_of(self, caller: nn.Module | None) -> str:
        names = (plain_name(name) for name, module in self.model.named_modules() if module is caller)
        return next(names, "")
