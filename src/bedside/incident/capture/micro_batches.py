"""The micro-batches of the current step, held by reference: this costs memory until the step is over, and no time.

Random numbers are noted after loading, just before each forward, because a loader in this process draws from the same
generators. A tensor that is changed in place after that can no longer be replayed, and its version number says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bedside.training.batches import named_tensors
from bedside.training.random_state import RandomState, random_state

MAX_CALLS = 8  # of the model before a backward: more are an evaluation that forgot no_grad, and are not held
MAX_MICRO_BATCHES = 256  # of a step: with more, no step follows these backward passes, and the first are released

Autocast = tuple[tuple[str, torch.dtype], ...]  # device type and dtype of each region


@dataclass(frozen=True)
class Call:
    """One call of the model."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    autocast: Autocast = ()


@dataclass(frozen=True)
class Loaded:
    """A batch as the loader gave it."""

    batch: Any
    indices: Sequence[Any] | None = None  # of its samples in the data set, where the loader can tell


@dataclass
class MicroBatch:
    """What happened between two backward passes."""

    random: RandomState | None  # just before its first forward; None: not known
    calls: list[Call] = field(default_factory=list)
    loaded: Loaded | None = None
    function: str = ""  # a loss function of torch that was called
    target: Any = None  # with this
    loss: float | Tensor | None = None  # as given to backward, before any loss scale
    over: bool = False  # its backward has ended
    versions: list[tuple[str, Tensor, int]] = field(default_factory=list)

    def changed(self) -> list[str]:
        """Inputs that somebody has written into since the forward began."""
        return [name for name, tensor, version in self.versions if tensor._version != version]


class MicroBatches:
    """Those since the last step of the optimizer."""

    def __init__(self) -> None:
        self._held: list[MicroBatch] = []
        self._loaded: list[Loaded] = []

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Any:
        return iter(self._held)

    def batch_loaded(self, batch: Any, indices: Sequence[Any] | None) -> None:
        """Some loaders fetch one batch ahead (Accelerate's does), so the last two are kept until one is used."""
        self._loaded = [*self._loaded[-1:], Loaded(batch, indices)]

    def forward_begins(self, args: Any, kwargs: Any, autocast: Autocast, *, late: bool = False) -> None:
        """`late`: the forward is over already, as with a compiled model, so random numbers are no longer known."""
        if self._held and len(self._held[-1].calls) >= MAX_CALLS and not self._held[-1].over:
            self._held.pop()
        if not self._held or self._held[-1].over:
            self._held = [*self._held[-MAX_MICRO_BATCHES + 1 :], MicroBatch(None if late else random_state())]
        current = self._held[-1]
        current.calls.append(Call(tuple(args), dict(kwargs), autocast))
        current.versions += [(name, each, each._version) for name, each in named_tensors((args, kwargs), "inputs")]
        if current.loaded is None and self._loaded:
            current.loaded = _used(self._loaded, current.calls[0])

    def loss_computed(self, function: str, target: Any) -> None:
        if self._held and not self._held[-1].over:
            self._held[-1].function, self._held[-1].target = function, target

    def backward_ended(self, losses: Sequence[float | Tensor]) -> None:
        """Of this model, from these losses."""
        if self._held:
            self._held[-1].loss = losses[0] if len(losses) == 1 else sum(losses)
            self._held[-1].over = True

    def discard_finished(self) -> None:
        """Only the one that is under way counts."""
        self._held = [each for each in self._held if not each.over]

    def forget(self) -> None:
        """The step is over."""
        self._held = []


def _used(loaded: Sequence[Loaded], call: Call) -> Loaded:
    """The batch that this call is about: one that shares a tensor with it, or else the last."""
    inputs = [each for _, each in named_tensors((call.args, call.kwargs))]
    pointers = {each.data_ptr() for each in inputs if each.numel()}
    for one in reversed(loaded):
        tensors = [each for _, each in named_tensors(one.batch)]
        if any(each.numel() and each.data_ptr() in pointers for each in tensors):
            return one
    return loaded[-1]
