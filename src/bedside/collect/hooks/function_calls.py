"""Observes the calls of some functions during one forward: the caller, the arguments and the result.

`F.relu(x)` has no module and no hook, so the function itself is replaced while a sampled forward runs, and put back
when it leaves. The caller is found on the stack: the innermost `self` that is a module. A function that calls another
one of the list (`F.relu` calls `torch.relu`) is observed once. Several may observe one function: it is replaced once,
and the caller is looked for once.

A function that the first forwards did not call is replaced only now and then. That saves most of the time; and from
Python 3.13 on, a class that was changed a thousand times (`torch.Tensor`, for its methods) stays slower from then on.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Sequence
from threading import get_ident
from types import FrameType
from typing import Any

from torch import nn

from bedside.collect.hooks.call_slot import is_compiling
from bedside.collect.hooks.copies import original_of
from bedside.collect.hooks.replacement import Replacement
from bedside.errors import pass_on_interrupts

FULL_FORWARDS = 20  # forwards in which all functions are observed
FULL_INTERVAL = 50  # and one in so many later, in case one is called that was not
MAX_FRAMES = 12  # frames between the function and the module that called it: decorators and helpers take a few

Observed = Callable[[str, nn.Module | None, tuple[Any, ...], dict[str, Any], Any], None]
Function = tuple[Any, str]  # where it is found, and its name there


class FunctionCalls:
    """`on()` replaces the functions, `off()` puts them back; `observed` gets name, caller, arguments and result of the
    calls that the same thread made meanwhile."""

    def __init__(self, functions: Sequence[Function], observed: Observed) -> None:
        self.ignored_callers: Collection[int] = ()  # callers that are not reported, by the id of their code
        self._functions = [_REPLACED.setdefault(each, _ReplacedFunction(*each)) for each in functions]
        self._observed = observed
        self._turn = 0
        self._used: set[_ReplacedFunction] = set()  # those that were called
        self._on = False
        self.thread = 0
        self.inside = False
        self.error: Exception | None = None  # what went wrong while observing; the caller must not be affected

    def on(self) -> None:
        if self._on:
            return
        self.thread, self.inside = get_ident(), False
        everything = self._turn < FULL_FORWARDS or self._turn % FULL_INTERVAL == 0
        self._turn += 1
        self._on = True  # before they are replaced: whatever happens, `off` puts them back
        for function in self._functions:
            if everything or function in self._used:
                function.add(self)

    def off(self) -> None:
        if self._on:
            for function in self._functions:
                function.remove(self)
            self._on = False

    def report(
        self, function: _ReplacedFunction, caller: nn.Module | None, args: Any, kwargs: Any, result: Any
    ) -> None:
        self._used.add(function)
        if self.error is None:
            try:
                self._observed(function.name, caller, args, kwargs, result)
            except Exception as error:
                pass_on_interrupts(error)
                self.error = error


class _ReplacedFunction:
    """One function, and who observes it."""

    def __init__(self, home: Any, name: str) -> None:
        self.name = name
        self._listeners: list[FunctionCalls] = []
        self._replacement = Replacement(home, name, self._made)

    def add(self, listener: FunctionCalls) -> None:
        with _lock:
            if not any(each is listener for each in self._listeners):
                self._listeners.append(listener)
            self._replacement.install()

    def remove(self, listener: FunctionCalls) -> None:
        if not any(each is listener for each in self._listeners):
            return
        with _lock:
            if len(self._listeners) == 1:
                self._replacement.remove()
            self._listeners[:] = [each for each in self._listeners if each is not listener]

    def _made(self, original: Any) -> Any:
        listeners, function = self._listeners, self

        def replaced(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(*args, **kwargs)
            thread = get_ident()
            observing = [each for each in listeners if not each.inside and each.thread == thread]
            if not observing:
                return original(*args, **kwargs)
            try:
                for listener in observing:
                    listener.inside = True
                result = original(*args, **kwargs)
                frame = sys._getframe(1)
                reported = [listener for listener in observing if id(frame.f_code) not in listener.ignored_callers]
                if reported:
                    caller = _calling_module(frame)
                    for listener in reported:
                        listener.report(function, caller, args, kwargs, result)
            finally:
                for listener in observing:
                    listener.inside = False
            return result

        return replaced


_lock = threading.RLock()
_REPLACED: dict[Function, _ReplacedFunction] = {}


def _calling_module(frame: FrameType | None) -> nn.Module | None:
    for _ in range(MAX_FRAMES):
        if frame is None:
            return None
        code = frame.f_code
        if "self" in code.co_varnames or "self" in code.co_freevars:  # asking for all locals costs a microsecond
            caller = frame.f_locals.get("self")
            if isinstance(caller, nn.Module):
                return original_of(caller)
        frame = frame.f_back
    return None
