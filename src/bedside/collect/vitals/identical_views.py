"""Contrastive learning: are the two views of a sample two, or the same tensor twice?

The model learns to recognise matching samples in a batch from two randomly altered views. Where the alteration is made
once and used twice, each sample only has to be recognised as itself. Read where the loss compares every sample with
every other (scores of as many columns as rows) or one output with another: inputs and outputs of the step's forwards,
row by row. Equal inputs with different outputs are fine: there dropout makes the views.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import floating_in
from bedside.collect.vitals.inputs import first_input
from bedside.collect.vitals.seen_before import marks_of
from bedside.record.run import Event

MIN_ROWS = 8  # of a batch
MIN_COLUMNS = 8  # of a sample: shorter ones are alike by chance
MAX_LOOKS = 3  # batches
PAIRED = ("mse_loss", "cosine_similarity", "cosine_embedding_loss", "smooth_l1_loss")


class IdenticalViews(Collector):
    """Looks for samples that come twice in what a contrastive loss compares."""

    name = "identical views"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._looks = 0
        self._module: Any = None
        self._given: list[Tensor] = []  # marks of the rows of each forward, in its input
        self._made: list[Tensor] = []  # and in its output
        self._open: Tensor | None = None
        self._contrasts = False
        self._waiting: list[tuple[int, int, PendingValue]] = []

    def attach(self, step: int) -> None:
        self._due = self._looks < MAX_LOOKS
        self._given, self._made, self._contrasts, self._module, self._open = [], [], False, None, None

    def forward_begins(self, forward: Forward) -> None:
        self._open = None
        if not self._due or not forward.grad or forward.validating or len(self._given) > 1:
            return
        batch = first_input((forward.args, forward.kwargs))
        if batch is None or batch.requires_grad or batch.dim() < 2 or len(batch) < MIN_ROWS:
            return
        if batch[0].numel() >= MIN_COLUMNS and self._module in (None, forward.module):
            self._module, self._open = forward.module, marks_of(batch.detach())

    def forward_ended(self, output: Any) -> None:
        given, self._open = self._open, None
        made = next((each for each in floating_in(output) if given is not None and len(each) == len(given)), None)
        if given is not None and made is not None:
            self._given.append(given)
            self._made.append(marks_of(made.detach()))

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if not self._due or not self._given or not isinstance(prediction, Tensor) or not isinstance(target, Tensor):
            return
        if function == "cross_entropy":
            square = prediction.dim() == 2 and len(prediction) == prediction.shape[1] >= len(self._given[0])
            self._contrasts = self._contrasts or (square and prediction.requires_grad)
        elif function in PAIRED:
            self._contrasts = self._contrasts or (prediction.requires_grad and target.requires_grad)

    def detach(self, step: int) -> None:
        if self._due and self._contrasts and self._given:
            self._looks += 1
            rows = len(self._given[0])
            self._waiting.append((step, rows, self.queue.put(repeated(self._given, self._made))))
        self._due = False

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, rows, pending in waiting:
            share = float(pending.numbers[0])
            yield Event(step, "views_compared", {"samples": rows, "same": share}, time.time())


def repeated(given: list[Tensor], made: list[Tensor]) -> Tensor:
    """The share of rows that come again with the same answer: in the second of two forwards, or in the same one.

    >>> import torch
    >>> one = torch.tensor([1.0, 2.0, 3.0, 4.0])
    >>> repeated([torch.cat([one, one])], [torch.cat([one, one])]).tolist()
    [1.0]
    >>> repeated([one, one], [one, one + 1]).tolist(), repeated([one], [one]).tolist()
    ([0.0], [0.0])
    """
    if len(given) > 1 and len(given[0]) == len(given[1]):
        return ((given[0] == given[1]) & (made[0] == made[1])).double().mean().reshape(1)
    order = given[0].argsort(stable=True)
    inputs, outputs = given[0][order], made[0][order]
    same = (inputs[1:] == inputs[:-1]) & (outputs[1:] == outputs[:-1])
    return ((same[::2].sum() if len(order) % 2 == 0 else same.sum() * 0) * 2 / len(order)).double().reshape(1)
