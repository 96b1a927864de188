"""Observes the calls of some functions for the length of one forward: who called, with what, and what came out.

`F.relu(x)` has no module and no hook, so the function itself is replaced while a sampled forward runs, and put back
when it leaves. The caller is found on the stack: the innermost `self` that is a module. A function that calls another
one of the list (`F.relu` calls `torch.relu`) is observed once. Several may observe one function: it is replaced once,
and the caller is looked for once.

A function that the first forwards did not call is replaced only now and then. That saves most of the time; and from
Python 3.13 on, a class that was changed a thousand times (`torch.Tensor`, for its methods) is slower ever after.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Sequence
from types import FrameType
from typing import Any

from torch import nn

from bedside.collect.hooks.copies import original_of

FULL_FORWARDS = 20  # forwards in which all functions are observed
FULL_INTERVAL = 50  # and one in so many later, in case one is called that was not
MAX_FRAMES = 12  # frames between the function and the module that called it: decorators and helpers take a few

Observed = Callable[[str, nn.Module | None, tuple[Any, ...], dict[str, Any], Any], None]
Function = tuple[Any, str]  # where it is found, and its name there


class FunctionCalls:
    """`on()` replaces the functions, `off()` puts them back; `observed` gets name, caller, arguments and result."""

    def __init__(self, functions: Sequence[Function], observed: Observed) -> None:
        self.ignored_callers: Collection[int] = ()  # callers that it is not notified of, by the id of their code
        self._functions = [_REPLACED.setdefault(each, _ReplacedFunction(*each)) for each in functions]
        self._observed = observed
        self._turn = 0
        self._on: Sequence[_ReplacedFunction] = ()
        self._used: set[_ReplacedFunction] = set()  # those that were observed
        self.inside = False
        self.error: Exception | None = None  # what went wrong while listening; the caller must not feel it

    def on(self) -> None:
        if not self._on:
            everything = self._turn < FULL_FORWARDS or self._turn % FULL_INTERVAL == 0
            self._turn += 1
            self._on = (
                self._functions if everything else [function for function in self._functions if function in self._used]
            )
            for function in self._on:
                function.add(self)

    def off(self) -> None:
        on, self._on = self._on, ()
        for function in on:
            function.remove(self)

    def report(
        self, function: _ReplacedFunction, caller: nn.Module | None, args: Any, kwargs: Any, result: Any
    ) -> None:
        self._used.add(function)
        if self.error is None:
            try:
                self._observed(function.name, caller, args, kwargs, result)
            except Exception as error:
                self.error = error


class _ReplacedFunction:
    """One function, and who observes it. What replaces it is made once and kept: that takes longer than a call."""

    def __init__(self, home: Any, name: str) -> None:
        self.name = name
        self._home = home
        self._listeners: list[FunctionCalls] = []
        self._original: Any = None
        self._replacement: Any = None
        self._was_its_own = True

    def add(self, listener: FunctionCalls) -> None:
        self._listeners.append(listener)
        if len(self._listeners) > 1:
            return
        original = getattr(self._home, self.name)
        if original is not self._original:
            self._original, self._replacement = original, self._made(original)
        self._was_its_own = self.name in vars(self._home)
        setattr(self._home, self.name, self._replacement)

    def remove(self, listener: FunctionCalls) -> None:
        self._listeners.remove(listener)
        if not self._listeners:
            if self._was_its_own:
                setattr(self._home, self.name, self._original)
            else:
                delattr(self._home, self.name)  # a method that torch.Tensor inherits

    def _made(self, original: Any) -> Any:
        listeners, function = self._listeners, self

        @functools.wraps(original)
        def observed(*args: Any, **kwargs: Any) -> Any:
            handling = [listener for listener in listeners if not listener.inside]
            if not handling:
                return original(*args, **kwargs)
            for listener in handling:
                listener.inside = True
            try:
                result = original(*args, **kwargs)
                frame = sys._getframe(1)
                report = [listener for listener in handling if id(frame.f_code) not in listener.ignored_callers]
                if report:
                    caller = _calling_module(frame)
                    for listener in report:
                        listener.report(function, caller, args, kwargs, result)
            finally:
                for listener in handling:
                    listener.inside = False
            return result

        return observed


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
