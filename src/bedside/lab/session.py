"""The frame around every experiment: the user's objects, everything saved, and no monitor listening."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from bedside.collect.hooks.unrecorded import unrecorded
from bedside.training.forward import Forward, LossFunction
from bedside.training.preserve import Preserved, preserved
from bedside.training.step import Loop, Training


@dataclass(frozen=True)
class Session:
    """A training that may be used at will until the block is over."""

    training: Training
    state: Preserved

    def evaluated(self, batches: Sequence[Any]) -> float:
        """The mean loss of these batches in evaluation mode; infinite if it is not a number."""
        self.training.model.eval()
        with torch.no_grad():
            losses = [float(self.training.batch_loss(each)) for each in batches]
        mean = sum(losses) / len(losses)
        return mean if math.isfinite(mean) else math.inf

    def rewind(self) -> None:
        """Back to the beginning."""
        self.state.rewind()


@contextmanager
def session(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    *,
    forward: Forward | None = None,
    loop: Loop | None = None,
    also: tuple[Any, ...] = (),
) -> Iterator[Session]:
    """Everything the experiment may change is saved here and put back at the end; `also` names further objects."""
    training = Training(model, loader, loss_fn, optimizer, forward, loop or Loop())
    with unrecorded(model, training.optimizer), preserved(model, *training.parts, *also, loader=loader) as state:
        yield Session(training, state)
