"""Observes what modules return during one forward, without sending their calls down torch's slow path.

A forward hook, even one for all modules, costs every call of a module several microseconds in torch's own code, far
more than keeping the output does (`call_slot.py` explains the alternative).

The call of the module that the user called is under way already. It hands on its output itself.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable
from statistics import median
from threading import get_ident
from typing import Any

import torch
from torch import nn

from bedside.collect.hooks.call_slot import SLOT, CallSlot, is_compiling
from bedside.collect.hooks.called_modules import CalledModule
from bedside.collect.hooks.copies import copy_of

Observed = Callable[[nn.Module, Any], None]

CALLS, ROUNDS = 64, 9  # that are timed to know what observing takes: two milliseconds, once


class ModuleCalls:
    """`on()` observes these modules, `off()` leaves them as they were. `observed` gets a module and its output, in the
    middle of the user's forward: it must not raise."""

    def __init__(self, modules: Iterable[nn.Module], observed: Observed) -> None:
        self._observed = observed
        self._slots = [_OutputSlot(module, observed) for module in modules]
        self._under_way: list[CalledModule] = []

    def on(self, entered: nn.Module) -> None:
        self._under_way = under_way = _calls_under_way(entered)
        for slot in self._slots:
            if (twin := copy_of(slot.module)) is not None:  # which is thrown away afterwards, with whatever is on it
                _OutputSlot(twin, functools.partial(self._observed_copy, slot.module)).install()
            elif slot.module is entered and under_way:
                under_way[-1].observers.append(self._observed)
            else:
                slot.install()

    def _observed_copy(self, original: nn.Module, copy: nn.Module, output: Any) -> None:
        self._observed(original, output)

    def off(self) -> None:
        for called in self._under_way:
            called.observers = [each for each in called.observers if each != self._observed]
        for slot in self._slots:
            slot.remove()
        self._under_way = []


class _OutputSlot(CallSlot):
    def __init__(self, module: nn.Module, observed: Observed) -> None:
        super().__init__(module)
        self._observed = observed
        self._thread = get_ident()  # whose forward is observed: another one may evaluate the model meanwhile

    def install(self) -> None:
        self._thread = get_ident()
        super().install()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return self.call(args, kwargs)
        if (copy := self.copy_called(sys._getframe(1))) is not None:
            return copy._call_impl(*args, **kwargs)
        output = (self.next or self._own)(*args, **kwargs)
        if self._thread == get_ident():
            self._observed(self.module, output)
        return output


def _calls_under_way(module: nn.Module) -> list[CalledModule]:
    slot, found = module.__dict__.get(SLOT), []
    while isinstance(slot, CallSlot):
        if isinstance(slot, CalledModule):
            found.append(slot)
        slot = slot.next
    return found


@functools.cache
def keeping_cost() -> float:
    """Seconds that it takes to observe an output and keep it for later. Timing that in place would double it, so it is
    timed once, here, on modules that do nothing."""
    kept: list[Any] = []

    def keep(module: nn.Module, output: Any) -> None:
        try:
            if type(output) is torch.Tensor and not output.is_inference():
                kept.extend((module, "", output, output._version))
        except Exception:
            kept.clear()

    idle = [_Idle() for _ in range(CALLS)]
    calls = [_OutputSlot(each, keep) for each in idle]
    with_us, without = [], []
    for _ in range(ROUNDS):
        without.append(_seconds(idle))
        for each, call in zip(idle, calls, strict=True):
            each.call = call
        with_us.append(_seconds(idle))
        for each in idle:
            each.call = None
        kept.clear()
    return max(median(with_us) - median(without), 0.0) / CALLS


def _seconds(idle: Iterable[_Idle]) -> float:
    nothing = torch.empty(0)
    began = time.perf_counter()
    for each in idle:
        each(nothing)
    return time.perf_counter() - began


class _Idle:
    """Is called as nn.Module is, without the hooks that somebody may have put on all modules."""

    call: _OutputSlot | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_impl(*args, **kwargs) if self.call is None else self.call(*args, **kwargs)

    def _call_impl(self, output: Any) -> Any:
        return output
