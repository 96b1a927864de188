"""When modules are called during one forward: the numbers of the operations at the beginning and end of each call."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bedside.collect.hooks.forward_hooks import Hook
from bedside.collect.model.forward_map import Span
from bedside.collect.model.parameter_layout import plain_name

# The number that the next operation of this thread will have; torch before 2.4 does not tell.
next_number = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)


class ModuleSpans:
    """`on()` puts two hooks on every module below the one that is called, `off()` takes them all away."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.found: list[Span] = []  # of the last forward that was observed, in the order in which calls began
        self._begun: list[tuple[int, str, int]] = []  # calls that are under way: their place, name and beginning
        self._spans: list[Span | None] = []
        self._names: dict[int, str] = {}
        self._handles: list[Any] = []

    def on(self, entered: nn.Module) -> None:
        self.off()
        self._begun, self._spans, self.found = [], [], []
        self._names = {id(module): plain_name(name) for name, module in self._model.named_modules()}
        for module in entered.modules():
            if module is not entered:  # which has begun already
                self._handles.append(module.register_forward_pre_hook(Hook(self._enter)))
            self._handles.append(module.register_forward_hook(Hook(self._leave)))
        self._enter(entered)

    def off(self) -> None:
        while self._handles:  # removed before it is forgotten: an interrupt may come between the two
            self._handles[-1].remove()
            self._handles.pop()

    def _enter(self, module: nn.Module, *_: Any) -> None:
        self._begun.append((len(self._spans), self._names.get(id(module), ""), next_number()))
        self._spans.append(None)

    def _leave(self, *_: Any) -> None:
        if not self._begun:  # a forward that was interrupted left its hooks on
            return
        place, name, number = self._begun.pop()
        self._spans[place] = Span(name, number, next_number())
        if not self._begun:
            self.found = [each for each in self._spans if each is not None]
