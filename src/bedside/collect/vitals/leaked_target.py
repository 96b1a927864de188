"""Is the target among the inputs? Looks for a column that sorts the examples exactly as their targets do.

A price beside its logarithm, a duration beside the two times that it is the difference of: the column need not be the
target, only a function of it that always rises or always falls. Real features do that up to noise; over some hundred
different examples without one exception, none does. The first few hundred examples of the sampled batches are looked
at, where the input is a table and the target one number for each row.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.inputs import first_input
from bedside.collect.vitals.leaked_labels import both_ends
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed

EXAMPLES = 256  # in order by chance: once in 256! times
ROWS = 256  # of a batch
DIFFERENT = 0.75  # of the targets must differ: a few levels are soon in order
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


class LeakedTarget(Collector):
    """Keeps the first examples and their targets until there are enough to look at."""

    name = "leaked target"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._done = False
        self._batch: Tensor | None = None
        self._width = 0
        self._kept: list[tuple[Tensor, Tensor]] = []
        self._waiting: tuple[int, PendingValue] | None = None

    def attach(self, step: int) -> None:
        self._due = not self._done

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            batch = first_input((forward.args, forward.kwargs))
            wanted = batch is not None and batch.is_floating_point() and batch.dim() == 2 and batch.shape[1] > 1
            self._batch = batch.detach() if wanted and batch is not None else None

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        batch, self._batch = self._batch, None
        if batch is None or is_freed(batch) or function not in LOSSES or not isinstance(target, Tensor):
            return
        if isinstance(prediction, Tensor) and prediction.requires_grad and target.numel() == len(batch):
            if self._kept and batch.shape[1] != self._width:
                self._kept = []
            self._width = batch.shape[1]
            self._kept.append((both_ends(batch[:ROWS]).clone(), target.detach().reshape(-1)[:ROWS].float().clone()))

    def detach(self, step: int) -> None:
        self._due, self._batch = False, None
        if not self._done and sum(len(target) for _, target in self._kept) >= EXAMPLES:
            self._done = True
            self.context.facts["targets_compared"] = sum(len(target) for _, target in self._kept)
            columns, targets = (torch.cat(each) for each in zip(*self._kept, strict=True))
            self._waiting, self._kept = (step, self.queue.put(in_order(columns.float(), targets))), []

    def events(self) -> Iterable[Event]:
        if self._waiting is not None:
            (step, pending), self._waiting = self._waiting, None
            columns, first, examples = (int(number) for number in pending.numbers)
            if columns:
                facts = {"columns": columns, "first": first, "of": self._width, "examples": examples}
                yield Event(step, "target_in_input", facts, time.time())


def in_order(columns: Tensor, targets: Tensor) -> Tensor:
    """How many columns rise, or fall, with the target without an exception; which is the first; of how many examples.

    >>> x = torch.tensor([[1.0, 5.0], [2.0, 1.0], [3.0, 9.0], [4.0, 2.0]])
    >>> in_order(x, torch.tensor([8.0, 6.0, 4.0, 2.0])).tolist()
    [1.0, 0.0, 4.0]
    """
    order = targets.argsort()
    steps = columns[order].diff(dim=0)
    varied = (steps != 0).double().mean(0) >= DIFFERENT
    ordered = ((steps >= 0).all(0) | (steps <= 0).all(0)) & varied
    enough = (targets[order].diff() != 0).double().mean() >= DIFFERENT
    found = ordered & enough
    return torch.stack([found.sum(), found.int().argmax(), torch.tensor(len(targets), device=found.device)]).double()
