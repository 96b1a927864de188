"""Observes what modules return for the length of one forward, without sending their calls down torch's slow path.

A forward hook, even one for all modules, costs every call of a module several microseconds in torch's own code, far
more than keeping the output does. The place that `nn.Module` has for a compiled call is looked at anyway; what is put
there calls the module as usual and tells what came out. It does not travel with copies of the model.

The module that was entered has looked there before anybody could listen. It has a hook of `forward_hooks.py` already,
so that one more costs nothing.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import torch
from torch import nn

from bedside.collect.hooks.copies import copy_of
from bedside.collect.hooks.forward_hooks import CALL_SLOT, Hook

Observed = Callable[[nn.Module, Any], None]

CALLS, ROUNDS = 64, 9  # that are timed to know what hearing takes: two milliseconds, once


class ModuleCalls:
    """`on()` observes these modules, `off()` leaves them as they were. `observed` gets a module and its output, in the
    middle of the user's forward: it must not raise."""

    def __init__(self, modules: Iterable[nn.Module], observed: Observed) -> None:
        self._observed = observed
        self._calls = [(module, _Call(module, observed)) for module in modules]
        self._forward_begins: Any = None  # the handle of its hook
        self._on = False

    def on(self, entered: nn.Module) -> None:
        self._on = True
        for module, call in self._calls:
            if (twin := copy_of(module)) is not None:  # which is thrown away afterwards, with whatever is on it
                twin.__dict__[CALL_SLOT] = _Call(twin, functools.partial(self._observed_copy, module))
            elif module is entered:
                hook = Hook(lambda module, _, output: self._observed(module, output))
                self._forward_begins = module.register_forward_hook(hook)
            else:
                place = module.__dict__
                if CALL_SLOT in place:
                    call.put_before(place[CALL_SLOT])
                place[CALL_SLOT] = call

    def _observed_copy(self, original: nn.Module, copy: nn.Module, output: Any) -> None:
        self._observed(original, output)

    def off(self) -> None:
        if self._on:
            self._on = False
            if self._forward_begins is not None:
                self._forward_begins.remove()
                self._forward_begins = None
            for module, call in self._calls:
                place = module.__dict__
                if place.get(CALL_SLOT) is call and call.next is None:
                    del place[CALL_SLOT]
                else:
                    _take_out(call, place)


class _Call:
    """What is called in place of a module. Another one may be there already, or a call that the user compiled."""

    __slots__ = ("_call", "_module", "_observed", "next")

    def __init__(self, module: nn.Module, observed: Observed) -> None:
        self._module, self._observed = module, observed
        self._call = module._call_impl
        self.next: Any = None

    def put_before(self, call: Any) -> None:
        """Call this one from now on; None: the module itself."""
        self.next = call
        self._call = self._module._call_impl if call is None else call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1).f_locals.get("self")
        if caller is not self._module and isinstance(caller, nn.Module):
            return caller._call_impl(*args, **kwargs)  # a copy that shares everything, as nn.DataParallel makes them
        output = self._call(*args, **kwargs)
        self._observed(self._module, output)
        return output

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> Any:
        return type(None), ()


def _take_out(call: _Call, place: dict[str, Any]) -> None:
    """Of several that observe one module, this one; in whatever order they leave."""
    at = place.get(CALL_SLOT)
    if at is call:
        place[CALL_SLOT] = call.next
    while isinstance(at, _Call):
        if at.next is call:
            at.put_before(call.next)
        at = at.next
    call.put_before(None)


@functools.cache
def keeping_cost() -> float:
    """Seconds that hearing an output and keeping it for later takes: too little to be timed where it happens without
    doubling it, so it is timed once, here, at modules that do nothing."""
    kept: list[Any] = []

    def keep(module: nn.Module, output: Any) -> None:
        try:
            if type(output) is torch.Tensor and not output.is_inference():
                kept.extend((module, "", output, output._version))
        except Exception:
            kept.clear()

    idle = [_Idle() for _ in range(CALLS)]
    calls = [_Call(each, keep) for each in idle]
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

    call: _Call | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_impl(*args, **kwargs) if self.call is None else self.call(*args, **kwargs)

    def _call_impl(self, output: Any) -> Any:
        return output
