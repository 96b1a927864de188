"""When modules are called during one forward: the numbers of the operations at the beginning and end of each call."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bedside.collect.hooks.call_slot import CallSlot, is_compiling
from bedside.collect.model.forward_map import Span
from bedside.collect.model.parameter_layout import plain_name

# The number that the next operation of this thread will have; torch before 2.4 does not tell.
next_number = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)


class ModuleSpans:
    """`on()` observes every module below the one that is called, which has begun already; `off()` ends all of that."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.found: list[Span] = []  # of the last forward that was observed, in the order in which calls began
        self._spans: list[Span | None] = []
        self._slots: list[_SpanSlot] = []
        self._entered: tuple[str, int] | None = None  # the name of the called module, and where it began

    def on(self, entered: nn.Module) -> None:
        self.off()
        self._spans, self.found = [None], []
        names = {id(module): plain_name(name) for name, module in self._model.named_modules()}
        self._slots = [_SpanSlot(m, names.get(id(m), ""), self._spans) for m in entered.modules() if m is not entered]
        for slot in self._slots:
            slot.install()
        self._entered = names.get(id(entered), ""), next_number()

    def off(self) -> None:
        for slot in self._slots:
            slot.remove()
        self._slots = []

    def ended(self) -> None:
        """The called module has returned."""
        self.off()
        if self._entered is not None:
            name, began = self._entered
            self._entered = None
            self._spans[0] = Span(name, began, next_number())
            self.found = [each for each in self._spans if each is not None]


class _SpanSlot(CallSlot):
    def __init__(self, module: nn.Module, name: str, spans: list[Span | None]) -> None:
        super().__init__(module)
        self._name, self._spans = name, spans

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return self.call(args, kwargs)
        place, began = len(self._spans), next_number()
        self._spans.append(None)
        output = self.call(args, kwargs)
        self._spans[place] = Span(self._name, began, next_number())
        return output
