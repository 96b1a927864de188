"""The hooks around `optimizer.step`. Installing and removing them may be repeated, and interrupted at any line. To
remove them, they are looked up in the optimizer's own tables: a handle not yet stored when an interrupt came would
leave its hook behind for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.optim import Optimizer

from bedside.collect.hooks.nested_steps import without_nested_steps

StepHook = Callable[[Optimizer, Any, Any], None]


class OptimizerHooks:
    """`before` can be left out for a while: where nothing is read before a step, the hook after it is enough.
    `put_last` is called when it is back, for hooks of others that have to come after it."""

    def __init__(self, optimizers: Sequence[Optimizer], put_last: Callable[[], None] | None = None) -> None:
        self._optimizers = optimizers
        self._put_last = put_last
        self._before: StepHook = _nothing
        self._after: StepHook = _nothing
        self._hooked: list[tuple[Optimizer, StepHook, StepHook]] = []
        self._stays = False

    def install(self, before: StepHook, after: StepHook) -> None:
        self._before, self._after = before, after
        self._hooked = [self._hooks_of(each) for each in self._optimizers]
        for optimizer, _, after in self._hooked:
            if not _is_in(optimizer._optimizer_step_post_hooks, after):
                optimizer.register_step_post_hook(after)
        self.install_before()

    def install_before(self) -> None:
        for optimizer, before, _ in self._hooked:
            if not _is_in(optimizer._optimizer_step_pre_hooks, before):
                optimizer.register_step_pre_hook(before)
        if self._put_last is not None:
            self._put_last()

    def stay(self) -> None:
        """A compiled step is compiled again whenever a hook is added or removed: from here on they stay until the
        end."""
        if self._hooked and not self._stays:
            self._stays = True
            self.install_before()

    def remove_before(self) -> None:
        if self._stays:
            return
        for optimizer, before, _ in self._hooked:
            _take_out(optimizer._optimizer_step_pre_hooks, before)

    def remove(self) -> None:
        self._stays = False
        self.remove_before()
        for optimizer, _, after in self._hooked:
            _take_out(optimizer._optimizer_step_post_hooks, after)

    def replace(self, old: Optimizer, new: Optimizer) -> None:
        """Put another optimizer in the place of one. Its step is under way: `install_before` is for its next one."""
        self._hooked.append(self._hooks_of(new))
        new.register_step_post_hook(self._hooked[-1][2])
        for optimizer, before, after in self._hooked:
            if optimizer is old:
                _take_out(old._optimizer_step_pre_hooks, before)
                _take_out(old._optimizer_step_post_hooks, after)
        self._hooked = [each for each in self._hooked if each[0] is not old]

    def _hooks_of(self, optimizer: Optimizer) -> tuple[Optimizer, StepHook, StepHook]:
        return optimizer, without_nested_steps(self._before, optimizer), without_nested_steps(self._after, optimizer)


def _nothing(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    """Until hooks are put on."""


def _is_in(hooks: dict[int, Any], hook: Any) -> bool:
    return any(each is hook for each in hooks.values())


def _take_out(hooks: dict[int, Any], hook: Any) -> None:
    for key in [key for key, each in hooks.items() if each is hook]:
        del hooks[key]
