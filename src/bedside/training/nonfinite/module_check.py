"""The first stage of a NaN hunt: every module's output is checked, at about a tenth of the step's cost.

A module is guilty if it was given finite numbers and returned others; one that was given NaN only passes it on.
Modules end in the order innermost first, so the first guilty one is the innermost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from bedside.training.batches import named_tensors
from bedside.training.nonfinite.operators import CheckOperations
from bedside.training.nonfinite.values import all_finite


@dataclass(frozen=True)
class BadModule:
    """A module that was given finite numbers and returned others."""

    name: str
    module: nn.Module
    call: int  # which call of this module in the forward, for one that is used twice


class ModuleCheck:
    """Checks the outputs of every module while it is attached."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.guilty: list[BadModule] = []
        self._calls: dict[nn.Module, int] = {}

    @contextmanager
    def attached(self) -> Iterator[ModuleCheck]:
        with ExitStack() as cleanup:
            for name, module in self._model.named_modules():
                handle = module.register_forward_hook(self._hook(name), with_kwargs=True)
                cleanup.callback(handle.remove)
            yield self

    def begin(self) -> None:
        """A new forward."""
        self.guilty.clear()
        self._calls.clear()

    def _hook(self, name: str) -> Any:
        def hook(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            call = self._calls[module] = self._calls.get(module, 0) + 1
            if not all_finite(tensors_in(output)) and all_finite(tensors_in((args, kwargs))):
                self.guilty.append(BadModule(name, module, call))

        return hook


@contextmanager
def operations_inside(bad: BadModule) -> Iterator[tuple[CheckOperations, list[Any]]]:
    """Checks every operation of one call of one module; the list holds what it returned."""
    check, returned, calls = CheckOperations(), [], [0]
    active: list[CheckOperations] = []

    def enter(*_: Any) -> None:
        calls[0] += 1
        if calls[0] == bad.call:
            check.__enter__()
            active.append(check)

    def leave(_module: nn.Module, _args: Any, output: Any) -> None:
        if active:
            active.pop().__exit__(None, None, None)
            returned.append(output)

    handles = [
        bad.module.register_forward_pre_hook(enter, prepend=True),
        bad.module.register_forward_hook(leave, always_call=True),
    ]
    try:
        yield check, returned
    finally:
        for each in handles:
            each.remove()
        if active:
            active.pop().__exit__(None, None, None)


def tensors_in(value: Any) -> list[Tensor]:
    return [each for _, each in named_tensors(value)]
