"""A monitor whose model is not being trained must not slow the others down. Which model a backward belongs to is known
only when it is over, so every open monitor checks each of them, at 0.1 ms. A notebook whose cells build a model each
and never close a monitor would soon train at a fraction of its speed. After a number of backwards that all belonged to
other models, a monitor goes idle: the replaced torch functions skip it until its model is called or its optimizer
steps. It does so only if that is certain to reveal the next training, and if no forward of its model is waiting for its
backward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.forward_hooks import ForwardHooks

if TYPE_CHECKING:
    from bedside.monitor.dispatcher import Dispatcher

FOREIGN_BACKWARDS = 20  # in a row: usually more than one of several networks makes before the next one's turn


class IdleCheck:
    """Counts the backwards of other models, and knows whether the monitor is idle."""

    def __init__(self, dispatcher: Dispatcher, forward_hooks: ForwardHooks) -> None:
        self._dispatcher = dispatcher
        self._forward_hooks = forward_hooks
        self._foreign = 0  # backwards in a row that were not of this model
        self._idle = False

    def ours(self) -> None:
        """Called when the model is called or its optimizer steps."""
        self._foreign = 0
        if self._idle:
            patches.resume(self._dispatcher)
            self._idle = False

    def backward_ended(self, ours: bool) -> None:
        self._foreign = 0 if ours else self._foreign + 1
        if self._foreign >= FOREIGN_BACKWARDS and self._forward_hooks.tells_of_training:
            self._idle = True
            patches.pause(self._dispatcher)
