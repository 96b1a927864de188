"""The targets: how the class labels are distributed, and what a model that knows nothing would score.

Read where the loss functions meet them, on sampled steps. The recent distribution (labels of the last batches weigh
most) shows a data set that is sorted by class; the whole of it gives the entropy of the labels, which is the loss of
the best constant guess, as the variance of the targets is for squared error and their mean absolute deviation for
absolute error; a squared error that was written by hand is read from its graph. Of yes-or-no targets only the balance
is recorded: the loss of a critic that cannot tell real from made is that of a guess, and should be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.reading.array_view import array_view
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.squared_error_targets import targets_of_squared_error

MAX_CLASSES = 4096  # a vocabulary's balance is not news, and its table would be read at every step
MAX_COLUMNS = 256  # of a regression target
MAX_TABLE = 64  # classes whose counts are told one by one, as those of evaluations are
MIN_COUNTED = 100  # labels or targets before their entropy or variance is worth telling
RECENT_LABELS = 0.9  # how much of the recent distribution survives a batch: about the last ten batches count
VITALS = ("label_entropy", "label_share_max", "batch_label_spread")
ABSOLUTE = ("l1_loss", "smooth_l1_loss", "huber_loss")
LINEAR = 5.0  # deviations: beyond, a Huber loss of the usual width is an absolute error to within a tenth
YES_OR_NO = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
MIN_LABELS = 8  # labels of a batch that tell whether classes come mixed: of fewer, many are alike by chance

Floats = NDArray[np.float64]


class Labels(Collector):
    """Counts labels and measures the spread of targets; the rest is computed once the numbers have arrived."""

    name = "labels"
    vitals = VITALS

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._output: Tensor | None = None  # of the model, until the loss is made of it
        self._counted: tuple[PendingValue, int] | None = (
            None  # of this step: how often each class, among how many labels
        )
        self._waiting: list[tuple[int, PendingValue, int]] = []  # the same, and the step
        self._recent = self._all = np.zeros(0)  # counts per class
        self._measured: list[PendingValue] = []  # moments of a regression target that are on their way
        self._moments = np.zeros((4, 0))  # per column: count, sum, sum of squares, of distances from the batch's mean
        self._is_absolute = False  # whether the loss is an absolute error
        self._yes_or_no = False
        self._reported_classes = 0
        self._reads = 0
        self._record = False  # what is known of the whole

    def attach(self, step: int) -> None:
        self._due = True

    def forward_ended(self, output: Any) -> None:
        if self._due and isinstance(output, Tensor) and output.requires_grad:
            self._output = output

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        output, self._output = self._output, None
        if self._due and output is not None and (target := targets_of_squared_error(tensors, output)) is not None:
            self._due = self._is_absolute = False
            self._measured.append(self.queue.put(moments(target)))

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if not self._due or not isinstance(prediction, Tensor) or not isinstance(target, Tensor):
            return
        if not prediction.requires_grad:
            return
        if function in ("cross_entropy", "nll_loss") and not target.is_floating_point():
            self._due = False
            classes = prediction.shape[1] if prediction.dim() > 1 else prediction.shape[0]
            if classes != self._reported_classes:
                self._reported_classes = self.context.facts["classes"] = classes
            if classes <= MAX_CLASSES:
                labels = target.detach().reshape(-1)
                self._counted = (self.queue.put(count(labels, classes)), len(labels))
        elif function in ("mse_loss", *ABSOLUTE) and target.is_floating_point() and target.dim():
            self._due = False
            self._is_absolute = function in ABSOLUTE
            self._measured.append(self.queue.put(moments(target.detach())))
        elif function in YES_OR_NO and target.numel() == len(target):
            self._due, self._yes_or_no = False, True
            answers = target.detach().reshape(-1)
            counts = torch.stack([(answers == 0).sum(), (answers == 1).sum()]).double()
            self._counted = (self.queue.put(counts), len(answers))

    def detach(self, step: int) -> None:
        self._due, self._output = False, None
        self._reads += 1
        if self._counted is not None:
            self._waiting.append((step, *self._counted))
            self._counted = None
        if self._reads in (20, 100, 500):  # what is known by then is worth telling a run that is still alive
            self._record = True

    def end(self) -> None:
        self._record = True

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        if self._yes_or_no and not self._all.any():
            # The parts of a critic's loss have targets of one kind each: only of batches with both something is known.
            mixed = [place for place, (_, pending, _) in enumerate(waiting) if (pending.numbers > 0).all()]
            waiting = waiting[mixed[0] :] if mixed else []
        if waiting:
            values = np.stack([self._take_in(pending.numbers, labels) for _, pending, labels in waiting])
            yield RowSet("labels", [(vital, "") for vital in VITALS], [step for step, _, _ in waiting], values)
        measured, self._measured = self._measured, []
        for pending in measured:
            table = pending.numbers.reshape(4, -1)
            self._moments = self._moments + table if self._moments.shape == table.shape else table
        if self._record:
            self._record = False
            self._record_all()

    def _take_in(self, counts: Floats, labels: int) -> list[float]:
        """Another batch: the vitals."""
        classes = len(counts)
        if len(self._all) != classes:
            self._all = self._recent = np.zeros(classes)
        self._all = self._all + counts
        self._recent = RECENT_LABELS * self._recent + counts
        if not self._recent.any():  # of batches whose labels are all ignored nothing is known
            return [math.nan] * 3
        most = math.log(min(labels, classes)) if labels >= MIN_LABELS and classes > 1 and counts.any() else math.nan
        return [entropy(self._recent), self._recent.max() / self._recent.sum(), entropy(counts) / most]

    def _record_all(self) -> None:
        """Everything so far: the loss of the best constant guess, if it is from enough targets."""
        known: dict[str, tuple[float, float]] = {}
        if self._all.any() and not self._yes_or_no:
            known["label_entropy"] = (entropy(self._all), float(self._all.sum()))
            if len(self._all) <= MAX_TABLE:
                self.context.facts["each_label"] = [int(each) for each in self._all]
        if self._moments.size:
            number, _, _, distances = self._moments
            if not self._is_absolute:
                known["target_variance"] = (spread(self._moments), float(number[0]))
            elif (deviation := float((distances / number).mean())) > LINEAR:
                known["target_deviation"] = (deviation, float(number[0]))
        for fact, (value, targets) in known.items():
            if targets >= MIN_COUNTED and math.isfinite(value) and value > 0:
                self.context.facts[fact] = value


def count(labels: Tensor, classes: int) -> Tensor | Floats:
    """How often each class occurs; labels outside (ignored ones are negative) are left out. Waits for no device."""
    if labels.device.type == "cpu":
        here = array_view(labels)
        try:
            counts = np.bincount(here, minlength=classes)
        except (TypeError, ValueError):  # a label is negative, or no integer
            counts = np.bincount(here[here >= 0].astype(np.int64), minlength=classes)
        return counts[:classes].astype(np.float64)
    inside = (labels >= 0) & (labels < classes)
    table = torch.zeros(classes, dtype=torch.float64, device=labels.device)
    return table.scatter_add_(0, labels.clamp(0, classes - 1).long(), inside.double())


def moments(target: Tensor) -> Tensor:
    """Of each column: how many there are, their sum, that of their squares, and of their distances from the mean."""
    columns = target.double().reshape(len(target), -1)[:, :MAX_COLUMNS]
    apart = (columns - columns.mean(0)).abs().sum(0)
    return torch.stack([torch.ones_like(columns).sum(0), columns.sum(0), columns.square().sum(0), apart])


def entropy(counts: Floats) -> float:
    """In nats; NaN of nothing."""
    there = counts[counts > 0]
    share = there / there.sum() if len(there) else np.full(1, np.nan)
    return float(-(share @ np.log(share)))


def spread(moments: Floats) -> float:
    """The mean over columns of each column's variance."""
    number, total, squares, _ = moments
    mean = total / number
    with np.errstate(invalid="ignore", over="ignore"):  # where a target is not finite
        return float((squares / number - mean * mean).mean())
