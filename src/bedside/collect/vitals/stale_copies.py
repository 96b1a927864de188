"""Copies of the model whose weights follow it and whose BatchNorm averages do not.

An average of the weights is often kept in a deep copy that is evaluated in the model's place. Whoever updates its
parameters only leaves the running averages of its normalisations as they were made: mean 0 and variance 1, of no batch
at all. The copy is not watched, so it is looked for among all objects, once, where validation is logged and the model
itself was never evaluated.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.run import Event

MIN_STEPS = 50  # as for stale-statistics: before that the usual averages have not arrived either
SEARCH_SECONDS = 0.1  # that it takes to go through all objects (measured: 0.03 of a small program)
MAX_COPIES = 4  # that are looked at: folds or an ensemble have many


class StaleCopies(Collector):
    """Looks for such copies once."""

    name = "stale copies"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._open = any(
            map(_is_averaging, self.model.modules())
        )  # until the model is evaluated itself, or all is done
        self._logged = False  # something of validation
        self._waiting: list[tuple[int, list[str], PendingValue]] = []

    def forward_begins(self, forward: Forward) -> None:
        if not forward.training and (forward.validating or not forward.grad):
            self._open = False

    def metrics_logged(self, vitals: Sequence[str]) -> None:
        if not self._open or not any(vital.startswith("val/") for vital in vitals):
            return
        self._logged = True
        if self.context.step >= MIN_STEPS and self.context.affords(SEARCH_SECONDS):
            self._search()

    def end(self) -> None:
        if self._open and self._logged and self.context.step >= MIN_STEPS:
            self._search()

    def _search(self) -> None:
        self._open = False
        for copy in copies_of(self.model)[:MAX_COPIES]:
            names = [plain_name(name) for name, each in copy.named_modules() if _is_averaging(each)]
            moved = torch.stack([has_moved(each) for each in copy.modules() if _is_averaging(each)])
            fresh = torch.stack([is_fresh(each) for each in copy.modules() if _is_averaging(each)])
            seen = torch.stack([batches(each) for each in self.model.modules() if _is_averaging(each)])
            self._waiting.append((self.context.step, names, self.queue.put(torch.stack([moved, fresh, seen]))))

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, names, pending in waiting:
            moved, fresh, seen = pending.numbers.reshape(3, -1)
            where = [name for name, *is_stale in zip(names, moved, fresh, strict=True) if all(is_stale)]
            if where:
                yield Event(step, "stale_copy", {"where": where, "batches": int(seen.max())}, time.time())


def copies_of(model: nn.Module) -> list[nn.Module]:
    """Other modules of the same class and shapes that are in evaluation mode."""
    shapes = [each.shape for each in model.parameters()]
    others = [each for each in gc.get_objects() if type(each) is type(model) and each is not model]
    return [each for each in others if not each.training and [p.shape for p in each.parameters()] == shapes]


def is_fresh(norm: nn.Module) -> Tensor:
    """Whether the averages of a normalisation are those that it was made with.

    >>> norm = nn.BatchNorm1d(3)
    >>> before = is_fresh(norm)
    >>> _ = norm(torch.randn(5, 3))
    >>> before.item(), is_fresh(norm).item()
    (1.0, 0.0)
    """
    mean, variance = norm._buffers["running_mean"], norm._buffers["running_var"]
    assert mean is not None
    assert variance is not None
    return ((batches(norm) == 0) & (mean == 0).all() & (variance == 1).all()).double()


def has_moved(norm: nn.Module) -> Tensor:
    """Whether its weights are not those that it was made with: a copy of the untrained model is kept for other ends."""
    weight = norm._parameters["weight"]
    assert weight is not None
    return (weight.detach() != 1).any().double()


def batches(norm: nn.Module) -> Tensor:
    seen = norm._buffers["num_batches_tracked"]
    assert seen is not None
    return seen.detach().double()


def _is_averaging(module: nn.Module) -> bool:
    if not isinstance(module, _BatchNorm) or module._parameters.get("weight") is None:
        return False
    return all(module._buffers.get(name) is not None for name in ("running_mean", "num_batches_tracked"))
