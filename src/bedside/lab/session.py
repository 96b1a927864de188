"""The frame around every experiment: the user's objects, everything saved, and no monitor listening."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.optim import Optimizer

from bedside.lab.recording import unrecorded
from bedside.training.forward import Forward, LossFunction
from bedside.training.preserve import Preserved, preserved
from bedside.training.step import Loop, Training


@dataclass(frozen=True)
class Session:
    """A training that may be used at will until the block is over."""

    training: Training
    state: Preserved

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
