"""Hears the calls of some functions for the length of one forward: who called, with what, and what came out.

`F.relu(x)` has no module and no hook, so the function itself is replaced while a sampled forward runs, and put back
when it leaves. The caller is found on the stack: the innermost `self` that is a module. A function that calls another
one of the list (`F.relu` calls `torch.relu`) is heard once.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from torch import nn

DEEPEST = 12  # frames between the function and the module that called it: decorators and helpers take a few

Heard = Callable[[str, nn.Module | None, tuple[Any, ...], dict[str, Any], Any], None]


class Eavesdropper:
    """`on()` replaces the functions, `off()` puts them back; `heard` gets name, caller, arguments and result."""

    def __init__(self, functions: Sequence[tuple[Any, str]], heard: Heard) -> None:
        self._functions = functions
        self._heard = heard
        self._originals: list[tuple[Any, str, Any, bool]] = []
        self._inside = False
        self.error: Exception | None = None  # what went wrong while listening; the caller must not feel it

    def on(self) -> None:
        for home, name in self._functions:
            original = getattr(home, name)
            self._originals.append((home, name, original, name in vars(home)))
            setattr(home, name, self._replacement(name, original))

    def off(self) -> None:
        while self._originals:
            home, name, original, was_its_own = self._originals.pop()
            if was_its_own:
                setattr(home, name, original)
            else:
                delattr(home, name)  # a method that torch.Tensor inherits

    def _replacement(self, name: str, original: Any) -> Any:
        @functools.wraps(original)
        def heard(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(*args, **kwargs)
            self._inside = True
            try:
                result = original(*args, **kwargs)
                if self.error is None:
                    try:
                        self._heard(name, _calling_module(sys._getframe(1)), args, kwargs, result)
                    except Exception as error:
                        self.error = error
            finally:
                self._inside = False
            return result

        return heard


def _calling_module(frame: FrameType | None) -> nn.Module | None:
    for _ in range(DEEPEST):
        if frame is None:
            return None
        caller = frame.f_locals.get("self")
        if isinstance(caller, nn.Module):
            return caller
        frame = frame.f_back
    return None
