"""Draws from `torch.distributions`: is the action that is scored the one that was taken, does a gradient go through?

A policy gradient scores the action that was taken. `policy.log_prob(policy.sample())` scores another one, whose reward
nobody knows; then the first draw from that policy is never scored, and no action that came from elsewhere is.

A code that is drawn with `sample()`, from a distribution that could be drawn from with `rsample()`, is a constant to
the graph. Where a layer with weights is fed with it, and the loss trains the distribution all the same (a penalty on
the code), and nobody asks how probable the draw was (which is the other way to a gradient), what makes the code does
not learn what it is good for.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, distributions

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.function_calls import Function, FunctionCalls
from bedside.collect.reading.graph_values import kept_as
from bedside.record.run import Event

LOOKS = 2  # steps that must say the same before it is told
MAX_LOOKS = 12  # steps looked at
IDLE_LOOKS = 2  # and at no more if nothing was drawn or scored in so many: most trainings have no distributions
MAX_DRAWS = 512  # of a step
MAX_CODES = 8  # draws of a step of which the graph is kept until its backward pass
MAX_NODES = 3000  # of a graph
FED = ("mat1", "input", "mat2", "self")  # what a layer keeps of its input
LAYERS = ("Addmm", "Mm", "Linear", "Convolution")


def _methods() -> list[Function]:
    every = [each for each in vars(distributions).values() if isinstance(each, type)]
    every = [each for each in every if issubclass(each, distributions.Distribution)]
    return [(each, name) for each in every for name in ("sample", "log_prob") if name in vars(each)]


class RandomDraws(Collector):
    """Observes what is drawn and scored in a few steps."""

    name = "random draws"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._calls = FunctionCalls(_methods(), self._called)
        self._draws: weakref.WeakKeyDictionary[Any, list[Draw]] = weakref.WeakKeyDictionary()
        self._elsewhere = 0  # values scored that were not drawn from what scores them
        self._first = 0  # first draws that were scored
        self._again = 0  # later draws, of a distribution whose earlier ones were not
        self._codes: list[Draw] = []  # draws that are constants, and need not have been
        self._due = False
        self._looks = 0
        self._called_at_all = False
        self._agreed: dict[str, int] = {}
        self._found: list[str] = []
        self._news: list[Event] = []

    def attach(self, step: int) -> None:
        self._due = self._looks < (MAX_LOOKS if self._called_at_all else IDLE_LOOKS)
        self._draws.clear()
        self._codes = []
        self._elsewhere = self._first = self._again = 0
        self._found = []

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            self._calls.on()

    def _called(self, name: str, caller: Any, args: Any, kwargs: Any, result: Any) -> None:
        self._called_at_all = True
        if not args or not torch.is_grad_enabled() or len(self._draws) > MAX_DRAWS:
            return
        if name == "sample":
            if isinstance(result, Tensor):
                draw = Draw(result)
                self._draws.setdefault(args[0], []).append(draw)
                if args[0].has_rsample and len(self._codes) < MAX_CODES:
                    draw.made_by = trained_by(args[0])
                    self._codes.append(draw)
            return
        value = args[1] if len(args) > 1 else kwargs.get("value")
        for each in (*self._codes, *(draw for draws in list(self._draws.values()) for draw in draws)):
            if each.is_it(value):
                each.scored = True
        if not isinstance(result, Tensor) or not result.requires_grad:
            return
        own = self._draws.get(args[0], [])
        place = next((at for at, draw in enumerate(own) if draw.is_it(value)), None)
        if place is None:
            self._elsewhere += 1
        elif place == 0:
            self._first += 1
        elif not any(draw.scored for draw in own[:place]):
            self._again += 1

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        self._calls.off()
        if not self._due or not isinstance(tensors, Tensor):
            return
        if self._again and not self._elsewhere and not self._first:
            self._found.append("log_prob")
        codes, self._codes = [each for each in self._codes if each.made_by and not each.scored], []
        if codes and fed_unscored(tensors.grad_fn, codes):
            self._found.append("decoder")

    def backward_ended(self, ours: bool) -> None:
        if not self._due or not ours:
            return
        self._due = False
        self._looks += 1
        for each in self._found:
            self._agreed[each] = self._agreed.get(each, 0) + 1
            if self._agreed[each] == LOOKS:
                facts = {"function": each, "made_by": "sample"}
                self._news.append(Event(self.context.step, "loss_input", facts, time.time()))

    def detach(self, step: int) -> None:
        self._calls.off()
        self._draws.clear()
        self._codes = []
        self._due = False

    def end(self) -> None:
        self._calls.off()

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news


class Draw:
    """One draw, which is not kept alive: a value that nobody holds any more cannot be scored either."""

    def __init__(self, value: Tensor) -> None:
        self._value = weakref.ref(value)
        self.place = (value.data_ptr(), tuple(value.shape))
        self.made_by: list[Any] = []  # graph nodes of the distribution's numbers, where they matter
        self.scored = False

    def is_it(self, value: Any) -> bool:
        return value is not None and self._value() is value


def trained_by(source: Any) -> list[Any]:
    """The graph nodes that the numbers of a distribution come from."""
    inner = getattr(source, "base_dist", source)
    return [each.grad_fn for each in vars(inner).values() if isinstance(each, Tensor) and each.grad_fn is not None]


def fed_unscored(root: Any, codes: Sequence[Draw]) -> bool:
    """Whether the graph has a layer that was fed with one of these draws, and the very numbers that it was drawn by.

    >>> from torch import nn
    >>> encoder, decoder = nn.Linear(3, 2), nn.Linear(2, 3)
    >>> posterior = distributions.Normal(encoder(torch.ones(4, 3)), 1.0)
    >>> code = posterior.sample()
    >>> draw = Draw(code)
    >>> draw.made_by = trained_by(posterior)
    >>> reconstruction, penalty = decoder(code).square().mean(), posterior.mean.square().mean()
    >>> fed_unscored((reconstruction + penalty).grad_fn, [draw]), fed_unscored(reconstruction.grad_fn, [draw])
    (True, False)
    """
    sources = {node: draw for draw in codes for node in draw.made_by}
    fed: set[int] = set()
    reached: set[int] = set()
    waiting, seen = [root], {root}
    while waiting and len(seen) < MAX_NODES:
        node = waiting.pop()
        if node is None:
            continue
        if node in sources:
            reached.add(id(sources[node]))
        if str(node.name()).partition("Backward")[0] in LAYERS:
            kept = [kept_as(node, name) for name in FED]
            places = {(each.data_ptr(), tuple(each.shape)) for each in kept if isinstance(each, Tensor)}
            fed |= {id(draw) for draw in codes if draw.place in places}
        following = [each for each, _ in node.next_functions if each is not None and each not in seen]
        seen.update(following)
        waiting += following
    return bool(fed & reached)
