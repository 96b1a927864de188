"""The hooks around `optimizer.step`. Putting them on and taking them off may be repeated and interrupted at any line.

They are found by themselves in the optimizer's own tables: a handle that was not yet kept when an interrupt came would
leave its hook behind for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.optim import Optimizer

from bedside.collect.hooks.nested_steps import without_nested_steps

StepHook = Callable[[Optimizer, Any, Any], None]


class OptimizerHooks:
    """`before` can be left out for a while: where nothing is read before a step, its end tells as much."""

    def __init__(self, optimizers: Sequence[Optimizer], before: StepHook, after: StepHook) -> None:
        self._before = [(each, without_nested_steps(before, each)) for each in optimizers]
        self._after = [(each, without_nested_steps(after, each)) for each in optimizers]

    def install(self) -> None:
        for optimizer, hook in self._after:
            if not _is_in(optimizer._optimizer_step_post_hooks, hook):
                optimizer.register_step_post_hook(hook)
        self.install_before()

    def install_before(self) -> None:
        for optimizer, hook in self._before:
            if not _is_in(optimizer._optimizer_step_pre_hooks, hook):
                optimizer.register_step_pre_hook(hook)

    def remove_before(self) -> None:
        for optimizer, hook in self._before:
            _take_out(optimizer._optimizer_step_pre_hooks, hook)

    def remove(self) -> None:
        self.remove_before()
        for optimizer, hook in self._after:
            _take_out(optimizer._optimizer_step_post_hooks, hook)


def _is_in(hooks: dict[int, Any], hook: Any) -> bool:
    return any(each is hook for each in hooks.values())


def _take_out(hooks: dict[int, Any], hook: Any) -> None:
    for key in [key for key, each in hooks.items() if each is hook]:
        del hooks[key]
