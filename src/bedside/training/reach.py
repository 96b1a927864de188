"""What a model's own code can change outside the model: globals, closures and class attributes that it mentions.

A copy of a model shares these with the original. Random generators, plain containers and plain numbers among them can
be put back after the copy was used. An iterator or an open file cannot, so a model whose code mentions one is not
called for a trial. What hides further away (an object's own attributes, a service, the clock) is not found.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from bedside.training.held import held_by, obstacle
from bedside.training.saved import PLAIN, Restore, save

SOURCES = (torch.Generator, random.Random, np.random.RandomState, np.random.Generator)
CONTAINERS = (dict, list, set, deque)
LARGEST = 64 << 20  # bytes in all that are copied to be put back: a table of statistics, not a data set

Place = tuple[str, Any, dict[str, Any] | None]  # its name, its value, and the globals it was found in


class OutOfReach(Exception):
    """The code uses something that could not be put back; the message says what."""


def save_reachable(model: nn.Module, functions: Iterable[FunctionType] = ()) -> Restore:
    """A function that puts back what the model's methods, and these functions, can change outside the model."""
    restores: list[Restore] = []
    containers: dict[str, Any] = {}
    for name, value, home in _mentioned([*_methods(model), *functions], _classes(model)):
        if isinstance(value, SOURCES):
            restores.append(save(value))
        elif why := obstacle(value):
            raise OutOfReach(f"its code uses `{name}`, {why}")
        elif type(value) in CONTAINERS:
            containers[name] = value
        elif home is not None and isinstance(value, PLAIN):
            restores.append(_rebinding(home, name, value))
    found = held_by(containers)
    if found.obstacle or sum(found.bytes.values()) > LARGEST:
        raise OutOfReach(found.obstacle or f"its code uses large tables outside the model ({', '.join(containers)})")
    restores += [save(each) for each in containers.values()]

    def restore() -> None:
        for each in restores:
            each()

    return restore


def _rebinding(home: dict[str, Any], name: str, value: Any) -> Restore:
    def restore() -> None:
        if home.get(name) is not value:  # `global count; count += 1`
            home[name] = value

    return restore


def _classes(model: nn.Module) -> list[type]:
    kinds = dict.fromkeys(kind for module in model.modules() for kind in type(module).__mro__)
    return [kind for kind in kinds if not _is_library(kind.__module__)]


def _methods(model: nn.Module) -> list[FunctionType]:
    found: list[FunctionType] = []
    for kind in _classes(model):
        for value in vars(kind).values():
            inner = getattr(value, "__func__", value)  # a static or class method
            inner = value.fget if isinstance(value, property) else inner
            if isinstance(inner, FunctionType):
                found.append(inner)
    return found


def _mentioned(functions: Iterable[FunctionType], classes: Iterable[type]) -> Iterator[Place]:
    """Everything that the functions name, and the functions of the same program that they call."""
    for kind in classes:
        yield from ((name, value, None) for name, value in vars(kind).items() if not name.startswith("__"))
    waiting = list(functions)
    seen: set[int] = set()
    while waiting:
        function = waiting.pop()
        function = getattr(function, "__wrapped__", function)
        if not isinstance(function, FunctionType) or id(function) in seen or _is_library(function.__module__ or ""):
            continue
        seen.add(id(function))
        for place in _named_in(function):
            if isinstance(place[1], FunctionType):
                waiting.append(place[1])
            else:
                yield place


def _named_in(function: FunctionType) -> Iterator[Place]:
    names = _names(function.__code__)
    home = function.__globals__
    for name in names & home.keys():
        value = home[name]
        if not isinstance(value, ModuleType):
            yield name, value, home
        elif not _is_library(value.__name__):  # `import helpers`, and `helpers.generator` somewhere below
            inside = vars(value)
            yield from ((each, inside[each], inside) for each in names & inside.keys())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents, None
        except ValueError:  # not assigned yet
            continue
    yield from (("a default argument", each, None) for each in function.__defaults__ or ())


def _names(code: CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _is_library(module: str) -> bool:
    """Whether this is the code of an installed package, which does not keep a training's state in globals."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names and top != "__main__":
        return True
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file or top == "bedside"
