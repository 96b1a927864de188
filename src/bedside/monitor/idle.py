"""A monitor whose model is not being trained costs the others nothing.

Whose a backward is shows only when it is over, so every open monitor looks at each of them, 0.1 ms. A notebook whose
cells build a model each and never close a monitor would soon train at a fraction of its speed. After a number of
backwards that all were of other models, a monitor goes idle: the replaced functions of torch pass it over, until its
model is called or its optimizer steps. It only does so where the next training is sure to show in that way, and while
no forward of its model waits for a backward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bedside.collect.hooks import torch_patches as patches
from bedside.collect.hooks.forward_hooks import ForwardHooks

if TYPE_CHECKING:
    from bedside.monitor.dispatcher import Dispatcher

FOREIGN_BACKWARDS = 20  # in a row: more than one network of several has before the next one's turn, as a rule


class IdleCheck:
    """Counts the backwards of others, and knows whether the monitor is idle."""

    def __init__(self, dispatcher: Dispatcher, forward_hooks: ForwardHooks) -> None:
        self._dispatcher = dispatcher
        self._forward_hooks = forward_hooks
        self._foreign = 0  # backwards in a row that were not of this model
        self._idle = False

    def ours(self) -> None:
        """The model is called, or its optimizer steps."""
        self._foreign = 0
        if self._idle:
            patches.resume(self._dispatcher)
            self._idle = False

    def backward_ended(self, ours: bool) -> None:
        self._foreign = 0 if ours else self._foreign + 1
        if self._foreign >= FOREIGN_BACKWARDS and self._forward_hooks.tells_of_training:
            self._idle = True
            patches.pause(self._dispatcher)
