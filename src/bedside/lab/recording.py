"""An experiment and the monitors: its steps are no part of the watched run, its result is.

While an experiment runs, no monitor listens: hooks that bedside put on the model and the optimizer are taken off, and
the patched torch functions have nobody to tell. Afterwards all of it is back, and the result is an event in the record
of whoever watches the model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from torch import nn
from torch.optim import Optimizer

from bedside.collect.hooks import torch_patches
from bedside.collect.hooks.call_slot import lifted
from bedside.errors import BedsideError
from bedside.lab.result import Result
from bedside.report.experiments import KIND

Options = ParamSpec("Options")
Answer = TypeVar("Answer", bound=Result)

_running: ContextVar[bool] = ContextVar("running", default=False)

MODULE_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
OPTIMIZER_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
TENSOR_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def experiment(function: Callable[Options, Answer]) -> Callable[Options, Answer]:
    """The public door of an experiment: errors show the call to type, and the result is written into the record."""

    @functools.wraps(function)
    def run(*args: Options.args, **kwargs: Options.kwargs) -> Answer:
        if _running.get():  # part of another experiment, whose result is the one to keep
            return function(*args, **kwargs)
        token = _running.set(True)
        try:
            result = function(*args, **kwargs)
        except BedsideError as error:
            raise error.at_the_door(f"help(bedside.lab.{function.__name__})") from None
        finally:
            _running.reset(token)
        model = args[0] if args else kwargs.get("model")
        for monitor in [each for each in torch_patches.MONITORS if model in (each, each.model)]:
            add_to_record(result, monitor)
        return result

    return run


def add_to_record(result: Result, monitor: Any) -> None:
    """Write the result into the monitor's record, as an event at the present step."""
    monitor._events.note(KIND, result.to_json() | {"picture": result.picture()})


@contextmanager
def unrecorded(model: nn.Module, optimizer: Optimizer | None = None) -> Iterator[None]:
    """No monitor listens inside this block. Hooks of the user's own stay, since they may be part of the model."""
    listening = list(torch_patches.MONITORS)
    alone = list(torch_patches._only_fast_path)
    taken = [each for hooks in _all_hooks(model, optimizer) for each in _take(hooks)]
    torch_patches.MONITORS.clear()
    torch_patches._only_fast_path.clear()
    try:
        with lifted():
            yield
    finally:
        torch_patches.MONITORS[:] = listening
        torch_patches._only_fast_path[:] = alone
        for hooks, key, hook in taken:
            hooks[key] = hook


def _all_hooks(model: nn.Module, optimizer: Optimizer | None) -> Iterator[dict[int, Any]]:
    owners = [*((each, MODULE_HOOKS) for each in model.modules()), *((p, TENSOR_HOOKS) for p in model.parameters())]
    if optimizer is not None:
        owners.append((optimizer, OPTIMIZER_HOOKS))
    for owner, names in owners:
        for name in names:
            if hooks := getattr(owner, name, None):
                yield hooks


def _take(hooks: dict[int, Any]) -> list[tuple[dict[int, Any], int, Any]]:
    taken = [(hooks, key, hook) for key, hook in hooks.items() if _is_ours(hook)]
    for _, key, _ in taken:
        del hooks[key]
    return taken


def _is_ours(hook: Any) -> bool:
    inner = getattr(hook, "func", hook)  # inside a functools.partial
    home = getattr(inner, "__module__", None) or type(inner).__module__
    return home.partition(".")[0] == "bedside"
