"""An optimizer whose `step` calls the `step` of its base class still makes one step. torch calls the hooks for both,
one within the other. The stack shows which of the two is calling; a counter would stay wrong once a step has ended in
an exception.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer

from bedside.collect.hooks.call_slot import is_compiling

Hook = Callable[[Optimizer, Any, Any], Any]


def without_nested_steps(handler: Hook, optimizer: Optimizer) -> Hook:
    """The same hook, ignoring nested steps; the hook itself where there can be none."""
    kinds = [kind for kind in type(optimizer).__mro__ if "step" in vars(kind) and kind is not Optimizer]
    if len({inspect.unwrap(vars(kind)["step"]) for kind in kinds}) < 2:
        return handler

    def observed(optimizer: Optimizer, args: Any, kwargs: Any) -> Any:
        return None if is_compiling() or _is_within_another() else handler(optimizer, args, kwargs)

    return observed


def _is_within_another() -> bool:
    """Whether the caller of the hook was itself called by a step of the same optimizer."""
    telling = sys._getframe(2)
    optimizer, frame = telling.f_locals.get("self"), telling.f_back
    while frame is not None:
        if frame.f_code is telling.f_code and frame.f_locals.get("self") is optimizer:
            return True
        frame = frame.f_back
    return False
