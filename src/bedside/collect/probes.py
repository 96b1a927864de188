"""The few forward passes that are not the user's: trials, and looks into a compiled model, always on a copy.

`bedside.training.model_copy` makes the copy and says when it cannot. Here is how often that may happen in a run, and
that nobody takes what the copy computes for the training's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torch import nn

from bedside.collect.hooks.copies import unobserved
from bedside.record.run import Event
from bedside.training.model_copy import Call, NotCopied, answers, model_copy

if TYPE_CHECKING:
    from bedside.collect.hooks.called_modules import Forward

MAX_COPIES = 16  # of a run: eight looks into a compiled model, and trials of two forwards each
TURNED_OFF = "it was turned off by watch(…, probes=False)"


def not_probed(step: int, trial: str, why: Exception | str) -> Event:
    """Says in the record that a trial was not made, so that nobody takes silence for health."""
    return Event(step, "not_probed", {"trial": trial, "why": str(why)}, time.time())


class Probes:
    """Runs forwards on copies of the model, as long as the user allows it."""

    def __init__(self, allowed: bool = True) -> None:
        self.allowed = allowed
        self._copies = 0

    def answers(self, forwards: Sequence[Forward], prepare: Callable[[nn.Module], None]) -> list[Any]:
        """What copies of the model answer to these forwards. Raises NotCopied with the reason if they cannot."""
        self._count(len(forwards))
        calls = [Call(each.args, each.kwargs, each.autocast) for each in forwards]
        with unobserved():
            return answers(forwards[0].module, calls, prepare)

    @contextmanager
    def copy(self, model: nn.Module) -> Iterator[nn.Module]:
        """A copy for this block, to be called by whoever asked."""
        self._count(1)
        with unobserved(), model_copy(model) as twin:
            yield twin

    def _count(self, copies: int) -> None:
        if not self.allowed:
            raise NotCopied(TURNED_OFF)
        self._copies += copies
        if self._copies > MAX_COPIES:
            raise NotCopied(f"the model was copied {MAX_COPIES} times already")
