"""The step of a GradScaler: the optimizer's own step runs within it, or was skipped since gradients overflowed.

Which of the two it was shows when the scaler's step is over: the optimizer's hooks were observed, or they were not. An
optimizer that does the scaling itself (a fused one) steps in any case, and looks for overflows on the device.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from bedside.collect.collector import WatchContext
from bedside.collect.step.optimizer_step import StepListener


class Scaling:
    """Tells the step listener of the loss scale, and of steps that were skipped."""

    def __init__(self, context: WatchContext, steps: StepListener) -> None:
        self._context = context
        self._steps = steps
        self._waits_for: int | None = None  # id of the optimizer whose step is to come, if it comes
        self._scale: Tensor | None = None

    def before(self, scaler: Any, optimizer: Any) -> None:
        """The scaler's step begins."""
        if optimizer in self._context.optimizers and scaler.is_enabled():
            self._context.scaler = scaler
            self._waits_for = id(optimizer)
            self._scale = scaler._scale.clone() if scaler._scale is not None else None
            if getattr(optimizer, "_step_supports_amp_scaling", False):
                self._steps.scaler_will_step(optimizer, self._scale)

    def step_begins(self, optimizer: Optimizer) -> None:
        """The optimizer's, within the scaler's or without one."""
        if self._waits_for == id(optimizer):
            self._waits_for = None
            self._steps.scaler_will_step(optimizer, self._scale)

    def after(self, optimizer: Any) -> None:
        """The scaler's step is over."""
        if self._waits_for == id(optimizer):  # the optimizer's hooks never ran
            self._waits_for = None
            self._steps.skipped(optimizer, self._scale)
