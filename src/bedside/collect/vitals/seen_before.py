"""Has the network trained on what it is evaluated on? Rows of validation batches are looked for among training rows.

Every row gets a number by which it is known again; those of the sampled training batches are kept, a few thousand.
Counted are the forwards of an evaluation, and those in which a row was found: an evaluation of both parts (a training
accuracy beside the held-out one) has forwards in which nothing is found. Rows of whole numbers that occur several times
in an evaluation say nothing: such data, the states of a game, repeat themselves. Measured numbers do not. Counted as
well are the forwards whose answers a loss function of torch compared with targets, before a validation loss was logged:
those are graded, where a retrieval only searches among them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.inputs import first_input
from bedside.record.run import Event

KEPT = 4096  # training rows
MIN_COLUMNS = 8  # of a row: shorter ones are alike by chance
COLUMNS = 256  # of a row, spread over it
MIN_ROWS = 8  # of a batch
MAX_LOOKS = 10  # evaluations
MAX_FORWARDS = 50  # of an evaluation


class SeenBefore(Collector):
    """Keeps marks of training rows, and looks for those of validation rows among them."""

    name = "seen before"
    sampled = True

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._marks: list[Tensor] = []
        self._looks = 0
        self._found: list[Tensor] = []
        self._graded: list[bool] = []  # by forward: whether a loss was computed of its answers
        self._rows = 0  # of the forward before a loss, if its rows were looked for
        self._waiting: list[tuple[int, PendingValue, list[bool]]] = []

    def attach(self, step: int) -> None:
        self._due = sum(map(len, self._marks)) < KEPT

    def forward_begins(self, forward: Forward) -> None:
        evaluates, self._rows = forward.validating or not forward.grad, 0
        if not (evaluates and self._looks < MAX_LOOKS and self._marks) and not (self._due and not evaluates):
            return
        batch = first_input((forward.args, forward.kwargs))
        if batch is None or batch.dim() < 2 or len(batch) < MIN_ROWS or batch[0].numel() < MIN_COLUMNS:
            return
        if not evaluates:
            self._due = False
            self._marks.append(marks_of(batch.detach()))
        elif len(self._found) < MAX_FORWARDS:
            own = found(marks_of(batch.detach()), torch.cat(self._marks))
            self._found.append(own * torch.stack([torch.ones_like(own[0])] * 2 + [are_whole(batch.detach())]))
            self._graded.append(False)
            self._rows = len(batch)

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._rows and isinstance(prediction, Tensor) and isinstance(target, Tensor):
            self._graded[-1] |= prediction.dim() > 0 and len(prediction) == self._rows

    def step_begins(self, optimizer: Any, closure: bool) -> None:
        self._found, self._graded, self._rows = [], [], 0  # forwards that no validation metric followed

    def metrics_logged(self, vitals: Sequence[str]) -> None:
        if self._found and any(vital.startswith("val/") for vital in vitals):
            self._looks += 1
            graded = [each and any(map(_is_loss, vitals)) for each in self._graded]
            self._waiting.append((self.context.step, self.queue.put(torch.stack(self._found).reshape(-1)), graded))
            self._found, self._graded, self._rows = [], [], 0

    def detach(self, step: int) -> None:
        self._due = False

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, pending, graded in waiting:
            table = pending.numbers.reshape(-1, 3)
            rows, known, repeated = (int(each) for each in table.sum(0))
            hits = table[:, 1] > 0
            facts = {"rows": rows, "known": known, "repeated": repeated, "forwards": len(table)}
            facts |= {"hits": int(hits.sum()), "graded": int((hits & graded).sum())}
            yield Event(step, "seen_before", facts, time.time())


def _is_loss(vital: str) -> bool:
    return vital.startswith("val/") and vital.endswith("loss")


def marks_of(batch: Tensor) -> Tensor:
    """A number for every row, by which it is known again."""
    flat = batch.reshape(len(batch), -1)
    if flat.shape[1] > COLUMNS:
        flat = flat[:, torch.linspace(0, flat.shape[1] - 1, COLUMNS, device=flat.device).long()]
    weights = torch.arange(2.0, 2.0 + flat.shape[1], dtype=torch.float64, device=flat.device).sqrt()
    return (flat.double() * weights).sum(1)


def are_whole(batch: Tensor) -> Tensor:
    """1 where every number of a batch is a whole one, 0 if not: examples of those may be equal without being copies."""
    whole = batch == batch.round() if batch.is_floating_point() else torch.ones((), device=batch.device)
    return whole.all().double()


def found(marks: Tensor, known: Tensor) -> Tensor:
    """How many rows there are, how many of them are known, and how many come twice or more.

    >>> known = torch.tensor([1.0, 2.0, 3.0])
    >>> found(torch.tensor([2.0, 5.0, 7.0, 7.0]), known).tolist()
    [4.0, 1.0, 1.0]
    """
    ordered = marks.sort().values
    repeated = (ordered[1:] == ordered[:-1]).sum()
    return torch.stack([torch.ones_like(marks).sum(), torch.isin(marks, known).sum(), repeated]).double()
