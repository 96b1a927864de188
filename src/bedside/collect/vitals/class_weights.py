"""The weights that a loss gives its classes, beside how often each class occurs.

Weights are there to make up for rare classes, so they should fall where frequencies rise. Computed the wrong way round
(counts over their sum, `positives / negatives` for `pos_weight`) they make the commonest class count even more, and no
error is raised. The graph of the first losses keeps both the weights and the labels.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.graph_values import kept_as
from bedside.collect.vitals.task_losses import tasks_of
from bedside.record.run import Event

MAX_LOOKS = 10  # losses with weights, whose labels are counted
ATTEMPTS = 3  # losses without: then there are none
MAX_CLASSES = 200  # more are a vocabulary


class ClassWeights(Collector):
    """Counts the labels of the first weighted losses."""

    name = "class weights"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._found: Tensor | None = None
        self._looks = self._attempts = 0
        self._waiting: list[tuple[int, PendingValue]] = []

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        self._found = None
        over = self._looks >= MAX_LOOKS or (not self._looks and self._attempts >= ATTEMPTS)
        if not over and isinstance(tensors, Tensor) and tensors.numel() == 1 and tensors.grad_fn is not None:
            tables = [weights_and_counts(task.node) for task in tasks_of(tensors.grad_fn)]
            self._found = next((table for table in tables if table is not None), None)

    def backward_ended(self, ours: bool) -> None:
        found, self._found = self._found, None
        if not ours or self._looks >= MAX_LOOKS:
            return
        self._attempts += 1
        if found is not None:
            self._looks += 1
            self._waiting.append((self.context.step, self.queue.put(found)))

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, pending in waiting:
            weights, counts = pending.numbers.reshape(2, -1).tolist()
            yield Event(step, "class_weights", {"weights": weights, "counts": counts}, time.time())


def weights_and_counts(node: Any) -> Tensor | None:
    """Two rows, the weight of each class and how many of the labels are of it; None where a loss has no weights.

    >>> scores, labels = torch.zeros(4, 3, requires_grad=True), torch.tensor([0, 0, 0, 2])
    >>> loss = torch.nn.functional.cross_entropy(scores, labels, weight=torch.tensor([0.75, 0.5, 0.25]))
    >>> weights_and_counts(loss.grad_fn).tolist()
    [[0.75, 0.5, 0.25], [3.0, 0.0, 1.0]]
    """
    kind, target = str(node.name()), kept_as(node, "target", unknown=True)
    if not isinstance(target, Tensor):
        return None
    if kind.startswith("NllLoss"):
        weight = kept_as(node, "weight", unknown=True)
        if not isinstance(weight, Tensor) or not weight.numel() <= MAX_CLASSES:
            return None
        classes = torch.arange(weight.numel(), device=target.device)
        counts = (target.reshape(-1, 1) == classes).sum(0)
        return torch.stack([weight.detach().double(), counts.double()])
    weight = kept_as(node, "pos_weight", unknown=True) if kind.startswith("BinaryCrossEntropyWithLogits") else None
    if not isinstance(weight, Tensor) or weight.numel() != 1:
        return None
    positive = weight.detach().double().reshape(1)
    counts = torch.stack([(target == 0).sum(), (target == 1).sum()]).double()
    return torch.stack([torch.cat([torch.ones_like(positive), positive]), counts])
