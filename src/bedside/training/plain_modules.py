"""Copies of modules that have no way of their own to be copied, as `copy.deepcopy` makes them in three times the time.

A module has a dozen containers, nearly all of them empty, and deepcopy makes each of them anew by taking it apart. Of a
model of five hundred modules that takes as long as two of its steps. Here the empty ones are made directly; whatever
else a module holds is left to deepcopy, and so is every module whose class says how it is copied or pickled.
"""

from __future__ import annotations

import copy
import copyreg
from collections import OrderedDict
from typing import Any

from torch import nn

from bedside.training.object_contents import NOT_COPIED
from bedside.training.saved_values import PLAIN

USUAL_WAYS: dict[str, Any] = {  # by the class that they are inherited from
    "__getstate__": nn.Module,
    "__reduce_ex__": object,
    "__reduce__": object,
    "__new__": object,
}
OWN_WAYS = ("__deepcopy__", "__getnewargs__", "__getnewargs_ex__")
EMPTIES = (dict, OrderedDict, set)


def copy_plain_modules(model: nn.Module, memo: dict[int, Any]) -> None:
    """Put a copy of every plain module of the model into the memo of a `deepcopy` of the model."""
    modules = [module for module in model.modules() if id(module) not in memo]
    kinds = {kind for kind in {type(module) for module in modules} if is_plain(kind)}
    plain = [
        module for module in modules if type(module) in kinds and not any(way in module.__dict__ for way in OWN_WAYS)
    ]
    twins = [object.__new__(type(module)) for module in plain]
    memo.update((id(module), twin) for module, twin in zip(plain, twins, strict=True))
    for module, twin in zip(plain, twins, strict=True):
        state = {name: _copied(each, memo) for name, each in module.__dict__.items() if name != NOT_COPIED}
        twin.__setstate__(state)


def is_plain(kind: type[nn.Module]) -> bool:
    """Whether deepcopy makes a new object of this class and copies its attributes one by one, and nothing else."""
    usual = all(getattr(kind, way) is getattr(owner, way) for way, owner in USUAL_WAYS.items())
    return usual and kind not in copyreg.dispatch_table and not any(hasattr(kind, way) for way in OWN_WAYS)


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in EMPTIES and not value:
        found = memo.get(id(value))
        if found is None:
            found = memo[id(value)] = kind()
        return found
    return copy.deepcopy(value, memo)
