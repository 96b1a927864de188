"""`MODULE:FUNCTION` or `FILE.py:FUNCTION` on the command line: import it, call it, and take the dict it returns."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from bedside.errors import BadOption, NoSuchPath, nearest_first, unknown_name

NAMES = (
    "model", "train_loader", "loss_fn", "optimizer", "val_loader", "scheduler", "steps", "classes", "forward", "loop"
)  # fmt: skip
NEEDED = ("model", "train_loader")


def training_of(target: str) -> dict[str, Any]:
    """The objects that the function returns, by the names that `bedside.preflight` takes."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise BadOption(
            f"{target!r} does not name a function.",
            expected="MODULE:FUNCTION or FILE.py:FUNCTION",
            try_=f"bedside preflight {target.rstrip(':') or 'train.py'}:setup",
        )
    module = _file(place) if place.endswith(".py") else _module(place)
    function = getattr(module, name, None)
    if not callable(function):
        known = [each for each, value in vars(module).items() if inspect.isfunction(value)]
        raise unknown_name(
            f"function in {place}", name, known or ["(none)"], try_=f"bedside preflight {place}:FUNCTION"
        )
    return _checked(_call(function, target), target)


def _call(function: Any, target: str) -> Any:
    try:
        return function()
    except Exception as error:
        raise BadOption(
            f"{target} raised {type(error).__name__}: {_first_line(error)}.",
            expected="a function without arguments that returns the training as a dict",
            try_=f"python -c 'from {_importable(target)} import *; {target.rpartition(':')[2]}()', for the traceback",
        ) from error


def _checked(found: Any, target: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise BadOption(
            f"{target} returned a {type(found).__name__}.",
            expected=f"a dict with {', '.join(NEEDED)} and, where there are any, {', '.join(NAMES[2:])}",
            try_="return {'model': model, 'train_loader': train_loader, 'loss_fn': loss_fn, 'optimizer': optimizer}",
        )
    if unknown := [str(key) for key in found if key not in NAMES]:
        raise BadOption(
            f"{target} returned a dict with the key {unknown[0]!r}.",
            expected=f"keys among {nearest_first(unknown[0], NAMES, most=len(NAMES))}",
            try_="help(bedside.preflight)",
        )
    if missing := [key for key in NEEDED if key not in found]:
        raise BadOption(
            f"{target} returned a dict without {missing[0]!r}.",
            expected=f"the keys {' and '.join(NEEDED)} at least",
            try_="return {'model': model, 'train_loader': train_loader, 'loss_fn': loss_fn, 'optimizer': optimizer}",
        )
    return found


def _file(place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        near = sorted(path.parent.glob("*.py"))[:1] if path.parent.is_dir() else []
        raise NoSuchPath(
            f"There is no file {place!r}.",
            expected="a Python file",
            try_=f"bedside preflight {near[0] if near else 'train.py'}:FUNCTION",
        )
    _look_in(str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # so that what it defines can be pickled for the loader's workers

    def load() -> ModuleType:
        if spec.loader is not None:
            spec.loader.exec_module(module)
        return module

    return _loaded(load, place)


def _module(place: str) -> ModuleType:
    _look_in(os.getcwd())
    try:
        spec = importlib.util.find_spec(place)
    except (ModuleNotFoundError, ValueError):
        spec = None
    if spec is None:
        raise BadOption(
            f"No module is called {place!r}.",
            expected="a module that Python can import from this folder, or a file",
            try_=f"bedside preflight {place.replace('.', '/')}.py:FUNCTION",
        )
    return _loaded(lambda: importlib.import_module(place), place)


def _loaded(load: Any, place: str) -> ModuleType:
    try:
        module: ModuleType = load()
    except Exception as error:
        raise BadOption(
            f"{place} cannot be imported: {type(error).__name__}: {_first_line(error)}.",
            expected="a file that Python can import without running the training",
            try_=f"python {place}, and `if __name__ == '__main__':` around what should not run on import",
        ) from error
    return module


def _look_in(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _importable(target: str) -> str:
    return Path(target.rpartition(":")[0]).stem


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0].rstrip(".")
