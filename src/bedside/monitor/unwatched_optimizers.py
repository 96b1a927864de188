"""An optimizer that nobody watches makes the steps of the watched model: some trainers build one inside `train()`.

Listened for until the watched optimizer steps for the first time, so it costs a run nothing afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

SURE = 2  # steps: in the first one a watched optimizer may be around the other, and step a moment later


class UnwatchedOptimizers:
    """Calls `found` once, with an optimizer that steps our parameters while none of ours does."""

    def __init__(
        self, ours: Iterable[Optimizer], parameters: Iterable[Tensor], found: Callable[[Optimizer], None]
    ) -> None:
        self._ours = {id(each) for each in ours}
        self._parameters = {id(each) for each in parameters}
        self._found = found
        self._steps = 0
        self._handle: Any = register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if id(optimizer) in self._ours:
            self.stop()
            return
        if any(id(p) in self._parameters for group in optimizer.param_groups for p in group["params"]):
            self._steps += 1
            if self._steps == SURE:
                self.stop()
                self._found(optimizer)

    def stop(self) -> None:
        self._handle.remove()
