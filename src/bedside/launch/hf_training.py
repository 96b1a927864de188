"""Trainings by the Trainer of transformers, in a script that nobody changed.

They are watched as any other. Only how the losses of a step's micro-batches make up its own has to be known: the
Trainer divides each by the tokens of the whole step, so that they add up to the loss that it logs.
"""

from __future__ import annotations

import functools
from typing import Any

from bedside.launch.attach import Attach


def listen(attach: Attach, trainer: Any) -> None:
    """`trainer` is the module transformers.trainer."""
    original = trainer.Trainer.training_step

    @functools.wraps(original)
    def training_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        attach.micro_losses = "sum"
        try:
            return original(self, *args, **kwargs)
        finally:
            attach.micro_losses = ""

    trainer.Trainer.training_step = training_step
