"""Hears the calls of some functions for the length of one forward: who called, with what, and what came out.

`F.relu(x)` has no module and no hook, so the function itself is replaced while a sampled forward runs, and put back
when it leaves. The caller is found on the stack: the innermost `self` that is a module. A function that calls another
one of the list (`F.relu` calls `torch.relu`) is heard once. Several may listen to one function: it is replaced once,
and the caller is looked for once.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Sequence
from types import FrameType
from typing import Any

from torch import nn

DEEPEST = 12  # frames between the function and the module that called it: decorators and helpers take a few

Heard = Callable[[str, nn.Module | None, tuple[Any, ...], dict[str, Any], Any], None]
Function = tuple[Any, str]  # where it is found, and its name there


class Eavesdropper:
    """`on()` replaces the functions, `off()` puts them back; `heard` gets name, caller, arguments and result."""

    def __init__(self, functions: Sequence[Function], heard: Heard) -> None:
        self.deaf_to: Collection[int] = ()  # callers that it is not told of, by the id of their code
        self._functions = functions
        self._heard = heard
        self._on = False
        self.inside = False
        self.error: Exception | None = None  # what went wrong while listening; the caller must not feel it

    def on(self) -> None:
        if not self._on:
            self._on = True
            for each in self._functions:
                if each not in _LINES:
                    _LINES[each] = _Line(*each)
                _LINES[each].add(self)

    def off(self) -> None:
        if self._on:
            self._on = False
            for each in self._functions:
                _LINES[each].remove(self)

    def told(self, name: str, caller: nn.Module | None, args: Any, kwargs: Any, result: Any) -> None:
        if self.error is None:
            try:
                self._heard(name, caller, args, kwargs, result)
            except Exception as error:
                self.error = error


class _Line:
    """One function, and who listens to it. What replaces it is made once and kept: that takes longer than a call."""

    def __init__(self, home: Any, name: str) -> None:
        self._home, self._name = home, name
        self._listeners: list[Eavesdropper] = []
        self._original: Any = None
        self._replacement: Any = None
        self._was_its_own = True

    def add(self, listener: Eavesdropper) -> None:
        self._listeners.append(listener)
        if len(self._listeners) > 1:
            return
        original = getattr(self._home, self._name)
        if original is not self._original:
            self._original, self._replacement = original, self._made(original)
        self._was_its_own = self._name in vars(self._home)
        setattr(self._home, self._name, self._replacement)

    def remove(self, listener: Eavesdropper) -> None:
        self._listeners.remove(listener)
        if not self._listeners:
            if self._was_its_own:
                setattr(self._home, self._name, self._original)
            else:
                delattr(self._home, self._name)  # a method that torch.Tensor inherits

    def _made(self, original: Any) -> Any:
        listeners, name = self._listeners, self._name

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
                        listener.told(name, caller, args, kwargs, result)
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
