"""The targets: how the class labels are distributed, and what a model that knows nothing would score.

Read where the loss functions meet them, on sampled steps. The recent distribution (labels of the last batches weigh
most) shows a data set that is sorted by class; the whole of it gives the entropy of the labels, which is the loss of
the best constant guess, as the variance of the targets is for squared error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bedside.collect.collector import Collector, Patient, RowSet
from bedside.collect.freight import Ticket

MOST_CLASSES = 4096  # a vocabulary's balance is no news, and its table would be read at every step
MOST_COLUMNS = 256  # of a regression target
ENOUGH = 100  # labels or targets before their entropy or variance is worth telling
MEMORY = 0.9  # how much of the recent distribution survives a batch: about the last ten batches count
VITALS = ("label_entropy", "label_share_max", "batch_label_spread")
FEWEST = 8  # labels of a batch that tell whether classes come mixed: of fewer, many are alike by chance


class Labels(Collector):
    """Counts labels and measures the spread of targets."""

    name = "labels"
    vitals = VITALS

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._due = False
        self._recent: Any = None  # counts per class: an array on the CPU, elsewhere a tensor
        self._all: Any = None
        self._moments: Tensor | None = None  # per column of a regression target: count, sum, sum of squares
        self._reading: Tensor | np.ndarray | None = None
        self._waiting: list[tuple[int, Ticket]] = []
        self._totals: list[tuple[str, Ticket]] = []
        self._told_classes = 0
        self._reads = 0

    def attach(self, step: int) -> None:
        self._due = True

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:  # type: ignore[override]
        if not self._due or not isinstance(prediction, Tensor) or not isinstance(target, Tensor):
            return
        if not prediction.requires_grad:
            return
        if function in ("cross_entropy", "nll_loss") and not target.is_floating_point():
            self._due = False
            classes = prediction.shape[1] if prediction.dim() > 1 else prediction.shape[0]
            if classes != self._told_classes:
                self._told_classes = self.patient.facts["classes"] = classes
            if classes <= MOST_CLASSES:
                self._count(target.detach().reshape(-1), classes)
        elif function == "mse_loss" and target.is_floating_point() and target.dim():
            self._due = False
            self._measure(target.detach())

    def detach(self, step: int) -> None:
        self._due = False
        self._reads += 1
        if self._reading is not None:
            self._waiting.append((step, self.freight.put(self._reading)))
            self._reading = None
        if self._reads in (20, 100, 500):  # what is known by then is worth telling a run that is still alive
            self._total()

    def end(self) -> None:
        self._total()

    def _total(self) -> None:
        """Everything so far: the loss of the best constant guess, and from how many targets."""
        if self._all is not None:
            total = together([entropy(self._all), self._all.sum()])
            self._totals.append(("label_entropy", self.freight.put(total)))
        if self._moments is not None:
            total = torch.stack([spread(self._moments), self._moments[0, 0]])
            self._totals.append(("target_variance", self.freight.put(total)))

    def rows(self) -> Iterable[RowSet]:
        totals, self._totals = self._totals, []
        for fact, ticket in totals:
            value, targets = ticket.numbers
            if targets >= ENOUGH and math.isfinite(value) and value > 0:
                self.patient.facts[fact] = float(value)
        waiting, self._waiting = self._waiting, []
        if waiting:
            values = np.stack([ticket.numbers for _, ticket in waiting])
            yield RowSet("labels", [(vital, "") for vital in VITALS], [step for step, _ in waiting], values)

    def _count(self, labels: Tensor, classes: int) -> None:
        counts = count(labels, classes)
        if self._all is None or len(self._all) != classes:
            self._all = self._recent = 0 * counts
        self._all = self._all + counts
        self._recent = MEMORY * self._recent + counts
        most = math.log(min(len(labels), classes)) if len(labels) >= FEWEST and classes > 1 else math.nan
        with np.errstate(invalid="ignore"):  # of a batch whose labels are all ignored nothing is known
            largest = self._recent.max() / self._recent.sum()
            self._reading = together([entropy(self._recent), largest, entropy(counts) / most])

    def _measure(self, target: Tensor) -> None:
        columns = target.double().reshape(len(target), -1)
        if columns.shape[1] > MOST_COLUMNS:
            columns = columns[:, :MOST_COLUMNS]
        moments = torch.stack([torch.ones_like(columns).sum(0), columns.sum(0), columns.square().sum(0)])
        known = self._moments is not None and self._moments.shape == moments.shape
        self._moments = self._moments + moments if known else moments


def count(labels: Tensor, classes: int) -> Tensor | np.ndarray:
    """How often each class occurs; labels outside (ignored ones are negative) are left out. Waits for no device."""
    if labels.device.type == "cpu":
        here = labels.numpy()
        here = (
            here
            if labels.dtype is torch.long and here.min(initial=0) >= 0 and here.max(initial=0) < classes
            else (here[(here >= 0) & (here < classes)])
        )
        return np.bincount(here, minlength=classes).astype(np.float64)
    inside = (labels >= 0) & (labels < classes)
    table = torch.zeros(classes, dtype=torch.float64, device=labels.device)
    return table.scatter_add_(0, labels.clamp(0, classes - 1).long(), inside.double())


def entropy(counts: Any) -> Any:
    """In nats."""
    if isinstance(counts, np.ndarray):
        there = counts[counts > 0]
        share = there / there.sum()
        return -(share @ np.log(share))
    share = counts / counts.sum()
    return -torch.special.xlogy(share, share).sum()


def together(numbers: list[Any]) -> Tensor | np.ndarray:
    """Some numbers for the freight, as tensors if they lie on a device."""
    return torch.stack(numbers) if isinstance(numbers[0], Tensor) else np.asarray(numbers, np.float64)


def spread(moments: Tensor) -> Tensor:
    """The mean over columns of each column's variance."""
    number, total, squares = moments
    mean = total / number
    return (squares / number - mean * mean).mean()
