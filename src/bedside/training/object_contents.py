"""What an object holds, before it is copied: how many bytes on which device, and whatever cannot be copied.

`copy.deepcopy` follows every reference. A model that keeps its trainer would take the data set along, one that reads
from an iterator would share it with the copy, and a tensor that is part of a graph ends in an exception half way. So
everything is looked through first, without calling anything of the user's.
"""

from __future__ import annotations

import io
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.data import DataLoader

from bedside.training.freed_tensors import is_freed
from bedside.training.saved_values import PLAIN

# What deepcopy hands on as it is.
SHARED = (*PLAIN, type, BuiltinFunctionType, ModuleType, torch.dtype, torch.device, torch.Size, range, np.dtype)
NOT_COPIED = "_compiled_call_impl"  # of a module: torch leaves it out of every copy, and bedside listens there
MAX_OBJECTS = 50_000  # besides tensors and numbers: a large model has a few thousand, a data set in a list has more


@dataclass
class Held:
    """What was found below some values."""

    bytes: Counter[torch.device] = field(default_factory=Counter)
    functions: list[FunctionType] = field(default_factory=list)  # shared by copies, with all that they close over
    graph_tensors: list[Tensor] = field(default_factory=list)  # results of operations, which deepcopy refuses
    obstacle: str = ""  # why it cannot be copied


def held_by(values: Mapping[str, Any]) -> Held:
    """Look through these values, by the names they have for the reader."""
    found = Held()
    seen: set[int] = set()
    waiting = deque(values.items())
    objects = 0
    while waiting and not found.obstacle:
        name, value = waiting.popleft()
        if isinstance(value, SHARED) or id(value) in seen:
            continue
        seen.add(id(value))
        objects += 1
        if objects > MAX_OBJECTS:
            found.obstacle = f"{name.partition('.')[0]} holds more than {MAX_OBJECTS:,} objects"
        elif is_lazy(value):
            found.obstacle = f"{name} has no shape yet"
        elif isinstance(value, Tensor):
            _add_tensor(found, name, value, seen)
        elif isinstance(value, np.ndarray):
            found.bytes[torch.device("cpu")] += value.nbytes
        elif isinstance(value, FunctionType):
            found.functions.append(value)
        elif why := obstacle(value):
            found.obstacle = f"{name} is {why}"
        else:
            waiting.extend((f"{name}{at}", each) for at, each in _parts(value))
    return found


def _add_tensor(found: Held, name: str, tensor: Tensor, seen: set[int]) -> None:
    if is_freed(tensor):
        found.obstacle = f"the memory of {name} was given back"
        return
    if tensor.grad_fn is not None:
        found.graph_tensors.append(tensor)
    if tensor.layout is torch.strided and type(tensor) in (Tensor, nn.Parameter):
        storage = tensor.untyped_storage()
        if storage.data_ptr() in seen:  # tied weights and views share it, and so do their copies
            return
        seen.add(storage.data_ptr())
        found.bytes[tensor.device] += storage.nbytes()
    else:
        found.bytes[tensor.device] += tensor.numel() * tensor.element_size()


def obstacle(value: Any) -> str:
    """What it is, if a copy of it would be used up together with the original, or would be none."""
    if isinstance(value, io.IOBase):
        return "an open file"
    if hasattr(type(value), "__next__"):
        return "an iterator"
    if isinstance(value, DataLoader):
        return "a DataLoader"
    if isinstance(value, torch.jit.ScriptModule):
        return "a scripted module, whose copies would be part of the training's graph"
    return ""


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r}]" if isinstance(key, PLAIN) else "[…]", each) for key, each in value.items())
        yield from (("[…]", key) for key in value if not isinstance(key, PLAIN))
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from (("[…]", each) for each in value if not isinstance(each, PLAIN))
    elif isinstance(value, MethodType):  # a bound method is copied with its object
        yield ".__self__", value.__self__
        yield ".__func__", value.__func__
    skipped = NOT_COPIED if isinstance(value, nn.Module) else None
    yield from ((f".{name}", each) for name, each in attributes_of(value) if not _is_nothing(each) and name != skipped)


def _is_nothing(value: Any) -> bool:
    """Plain, or one of the many empty containers of every module."""
    return isinstance(value, PLAIN) or (type(value) in (dict, OrderedDict, set) and not value)


def attributes_of(value: Any) -> Iterable[tuple[str, Any]]:
    """What is stored in an object: no property is asked, and no `__getattr__`."""
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return ()
    return list(stored.items()) if type(stored) is dict else ()
