"""What a model's own code can change outside the model: globals, closures and class attributes that it mentions.

A copy of a model shares these with the original. Random generators, plain containers and plain numbers among them can
be put back after the copy was used. An iterator or an open file cannot, so a model whose code mentions one is not
called for a trial. What hides further away (an object's own attributes, a service, the clock) is not found.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from bedside.training.object_contents import held_by, obstacle
from bedside.training.saved_values import PLAIN, Restore, save

SOURCES = (torch.Generator, random.Random, np.random.RandomState, np.random.Generator)
CONTAINERS = (dict, list, set, deque)
MAX_BYTES_COPIED = 64 << 20  # bytes in all that are copied to be put back: a table of statistics, not a data set

Rebind = Callable[[Any], None]  # gives a name its old value again
Place = tuple[str, Any, Rebind | None]  # a name, what it means, and how to give it back


class OutOfReach(Exception):
    """The code uses something that could not be put back; the message says what."""


def save_reachable(model: nn.Module, functions: Iterable[FunctionType] = ()) -> Restore:
    """A function that puts back what the model's methods, and these functions, can change outside the model."""
    restores: list[Restore] = []
    containers: dict[str, Any] = {}
    for name, value, rebind in _mentioned([*_classes(model), *functions]):
        if isinstance(value, SOURCES):
            restores.append(save(value))
        elif why := obstacle(value):
            raise OutOfReach(f"its code uses `{name}`, {why}")
        elif type(value) in CONTAINERS:
            containers[name] = value
        elif rebind is not None and isinstance(value, PLAIN):  # `global count; count += 1`
            restores.append(partial(rebind, value))
    found = held_by(containers)
    if found.obstacle or sum(found.bytes.values()) > MAX_BYTES_COPIED:
        raise OutOfReach(found.obstacle or f"its code uses large tables outside the model ({', '.join(containers)})")
    restores += [save(each) for each in containers.values()]

    def restore() -> None:
        for each in restores:
            each()

    return restore


def _classes(model: nn.Module) -> list[type]:
    return list(dict.fromkeys(kind for module in model.modules() for kind in type(module).__mro__))


def _mentioned(start: Iterable[type | FunctionType]) -> Iterator[Place]:
    """Everything that these classes and functions name, and the classes and functions of the same program among it."""
    waiting: list[Any] = list(start)
    seen: set[int] = set()
    while waiting:
        code = waiting.pop()
        code = inspect.unwrap(code) if isinstance(code, FunctionType) else code
        if id(code) in seen or not isinstance(code, FunctionType | type) or _is_library(code.__module__ or ""):
            continue
        seen.add(id(code))
        for place in _named_in(code) if isinstance(code, FunctionType) else _attributes_of(code):
            if isinstance(place[1], FunctionType | type):
                waiting.append(place[1])
            else:
                yield place


def _attributes_of(kind: type) -> Iterator[Place]:
    for name, value in vars(kind).items():
        inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)  # a static method
        if isinstance(inner, FunctionType) or not name.startswith("__"):
            yield name, inner, partial(setattr, kind, name)


def _named_in(function: FunctionType) -> Iterator[Place]:
    names = _names(function.__code__)
    home = function.__globals__
    for name in names & home.keys():
        value = home[name]
        if not isinstance(value, ModuleType):
            yield name, value, partial(home.__setitem__, name)
        elif not _is_library(value.__name__):  # `import helpers`, and `helpers.generator` somewhere below
            inside = vars(value)
            yield from ((each, inside[each], partial(inside.__setitem__, each)) for each in names & inside.keys())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents, partial(setattr, cell, "cell_contents")
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
