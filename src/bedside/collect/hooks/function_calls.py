"""Hears the calls of some functions for the length of one forward: who called, with what, and what came out.

`F.relu(x)` has no module and no hook, so the function itself is replaced while a sampled forward runs, and put back
when it leaves. The caller is found on the stack: the innermost `self` that is a module. A function that calls another
one of the list (`F.relu` calls `torch.relu`) is heard once. Several may listen to one function: it is replaced once,
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

FIRST = 20  # forwards in which all functions are listened to
SELDOM = 50  # and one in so many later, in case one is called that was not
DEEPEST = 12  # frames between the function and the module that called it: decorators and helpers take a few

Heard = Callable[[str, nn.Module | None, tuple[Any, ...], dict[str, Any], Any], None]
Function = tuple[Any, str]  # where it is found, and its name there


class Eavesdropper:
    """`on()` replaces the functions, `off()` puts them back; `heard` gets name, caller, arguments and result."""

    def __init__(self, functions: Sequence[Function], heard: Heard) -> None:
        self.deaf_to: Collection[int] = ()  # callers that it is not told of, by the id of their code
        self._lines = [_LINES.setdefault(each, _Line(*each)) for each in functions]
        self._heard = heard
        self._turn = 0
        self._on: Sequence[_Line] = ()
        self._used: set[_Line] = set()  # those that were heard
        self.inside = False
        self.error: Exception | None = None  # what went wrong while listening; the caller must not feel it

    def on(self) -> None:
        if not self._on:
            everything = self._turn < FIRST or self._turn % SELDOM == 0
            self._turn += 1
            self._on = self._lines if everything else [line for line in self._lines if line in self._used]
            for line in self._on:
                line.add(self)

    def off(self) -> None:
        on, self._on = self._on, ()
        for line in on:
            line.remove(self)

    def told(self, line: _Line, caller: nn.Module | None, args: Any, kwargs: Any, result: Any) -> None:
        self._used.add(line)
        if self.error is None:
            try:
                self._heard(line.name, caller, args, kwargs, result)
            except Exception as error:
                self.error = error


class _Line:
    """One function, and who listens to it. What replaces it is made once and kept: that takes longer than a call."""

    def __init__(self, home: Any, name: str) -> None:
        self.name = name
        self._home = home
        self._listeners: list[Eavesdropper] = []
        self._original: Any = None
        self._replacement: Any = None
        self._was_its_own = True

    def add(self, listener: Eavesdropper) -> None:
        self._listeners.append(listener)
        if len(self._listeners) > 1:
            return
        original = getattr(self._home, self.name)
        if original is not self._original:
            self._original, self._replacement = original, self._made(original)
        self._was_its_own = self.name in vars(self._home)
        setattr(self._home, self.name, self._replacement)

    def remove(self, listener: Eavesdropper) -> None:
        self._listeners.remove(listener)
        if not self._listeners:
            if self._was_its_own:
                setattr(self._home, self.name, self._original)
            else:
                delattr(self._home, self.name)  # a method that torch.Tensor inherits

    def _made(self, original: Any) -> Any:
        listeners, line = self._listeners, self

        @functools.wraps(original)
        def heard(*args: Any, **kwargs: Any) -> Any:
            hearing = [listener for listener in listeners if not listener.inside]
            if not hearing:
                return original(*args, **kwargs)
            for listener in hearing:
                listener.inside = True
            try:
                result = original(*args, **kwargs)
                frame = sys._getframe(1)
                told = [listener for listener in hearing if id(frame.f_code) not in listener.deaf_to]
                if told:
                    caller = _calling_module(frame)
                    for listener in told:
                        listener.told(line, caller, args, kwargs, result)
            finally:
                for listener in hearing:
                    listener.inside = False
            return result

        return heard


_LINES: dict[Function, _Line] = {}


def _calling_module(frame: FrameType | None) -> nn.Module | None:
    for _ in range(DEEPEST):
        if frame is None:
            return None
        code = frame.f_code
        if "self" in code.co_varnames or "self" in code.co_freevars:  # asking for all locals costs a microsecond
            caller = frame.f_locals.get("self")
            if isinstance(caller, nn.Module):
                return caller
        frame = frame.f_back
    return None
