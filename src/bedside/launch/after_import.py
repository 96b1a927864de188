"""Calls back when the script itself has imported a package.

Importing it for the script would be too early: what it sets before (`CUDA_VISIBLE_DEVICES`, `OMP_NUM_THREADS`, a
matplotlib backend) would no longer count. The loader of the real package does the work; only its `exec_module` is
replaced for that moment, so that the module's `__loader__` and `__spec__` are what they always are.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """An entry of `sys.meta_path` that finds nothing by itself."""

    def __init__(self) -> None:
        self._actions: dict[str, Action] = {}

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def call(self, name: str, action: Action) -> None:
        """Once module `name` has been imported; at once, if it already is. The action may not raise."""
        if name in sys.modules:
            action(sys.modules[name])
        else:
            self._actions[name] = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._actions:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self._cover(spec)
                return spec  # type: ignore[no-any-return]  # what a finder returns is not declared
        return None

    def _cover(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            loader.exec_module(module)
            action = self._actions.pop(spec.name, None)
            if action is not None:
                action(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader without attributes of its own: this package is not listened to
            self._actions.pop(spec.name, None)
