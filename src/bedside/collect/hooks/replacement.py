"""The one way to replace a function: ours is called in its place while it is needed, and then the original is put back.

Installing and removing may be repeated and may be interrupted at any line: the function in place is either the original
or ours, never something in between. If somebody else has replaced ours in turn, it stays where it is, below theirs; we
never remove theirs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Make = Callable[[Any], Any]  # from the original to what stands in for it


class Replacement:
    """One attribute of a module, a class or a closure's cell."""

    def __init__(self, home: Any, name: str, make: Make) -> None:
        self.name = name
        self._home = home
        self._make = make
        self._original: Any = None
        self._ours: Any = None
        self._inherited = False

    @property
    def installed(self) -> bool:
        """Whether ours is called, directly or by a replacement that somebody else put above it."""
        function = getattr(self._home, self.name)
        while function is not None and self._ours is not None:
            if function is self._ours:
                return True
            function = getattr(function, "__wrapped__", None)
        return False

    @property
    def on_top(self) -> bool:
        """Whether ours is the first to be called."""
        return self._ours is not None and getattr(self._home, self.name) is self._ours

    def install(self) -> None:
        if self.installed:
            return
        original = getattr(self._home, self.name)
        if original is not self._original:  # made once: that takes longer than a call
            self._ours = functools.wraps(original)(self._make(original))
            self._original = original
        self._inherited = self.name not in getattr(self._home, "__dict__", (self.name,))
        setattr(self._home, self.name, self._ours)

    def remove(self) -> None:
        if self.on_top and self._inherited:
            delattr(self._home, self.name)  # a method that torch.Tensor inherits
        elif self.on_top:
            setattr(self._home, self.name, self._original)
