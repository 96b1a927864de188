"""A block in which no monitor records: what an experiment or a replay does is not part of the watched run.

Hooks that bedside put on the model and the optimizer are taken off, and the patched torch functions notify no monitor.
Afterwards everything is put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.optim import Optimizer

from bedside.collect.hooks import torch_patches
from bedside.collect.hooks.call_slot import lifted

MODULE_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
OPTIMIZER_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
TENSOR_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


@contextmanager
def unrecorded(model: nn.Module, optimizer: Optimizer | None = None) -> Iterator[None]:
    """No monitor records inside this block. The user's own hooks stay, since they may be part of the model."""
    lists: list[list[Any]] = [torch_patches.DISPATCHERS, torch_patches.ACTIVE, torch_patches._only_fast_path]
    before = [each.copy() for each in lists]
    taken = [each for hooks in _all_hooks(model, optimizer) for each in _take(hooks)]
    for each in lists:
        each.clear()
    try:
        with lifted():
            yield
    finally:
        for each, members in zip(lists, before, strict=True):
            each[:] = members
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
