"""Is the label among the inputs? Columns that hold one number for each class, and another for every other.

No feature of real data does that: it varies within a class, or it is the same in two of them. A column that is the
label under another name has exactly one number per class, and so have the columns of a one-hot copy of it. So for every
class and column the smallest and the largest number are kept, over the first few thousand examples that are sampled;
both are one and the same where the column is a function of the label.

Tables and images are looked at, whose rows are examples. In sequences the answer may stand by right (recall
tasks), except where each place is asked for a yes or no of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.class_labels import BITS, chosen_rows, class_labels
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.inputs import first_input
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed

ENDS = 512  # columns looked at from either end, where a label is put
ROWS = 256  # of a batch
# It is reported after so many. Where most columns have two numbers only (a binarised image), one of them may agree with
# two classes by chance in 256 examples (1 of 135 draws from pairs of digits), so there the first word is after 1,024.
EXAMPLES = (256, 1024, 4096)
DIFFERENT = 0.75  # of them must differ from each other: twenty rows or one batch, learnt by heart, prove nothing
SEEN = 8  # examples of a class that count: one alone is always like itself


class LeakedLabels(Collector):
    """Looks at batches and labels side by side until enough have been seen."""

    name = "leaked labels"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._batch: Tensor | None = None
        self._table: Table | None = None
        self._rows = 0
        self._reported = 0  # how many of EXAMPLES have been reached
        self._waiting: list[tuple[int, int, PendingValue]] = []
        self._columns = 0
        self._was_leak = False

    def attach(self, step: int) -> None:
        self._due = self._reported < len(EXAMPLES)

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            batch = first_input((forward.args, forward.kwargs))
            wanted = batch is not None and batch.is_floating_point() and batch.dim() in (2, 3, 4)
            self._batch = batch.detach() if wanted and batch is not None else None

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        batch = self._batch
        if batch is None or is_freed(batch) or not isinstance(prediction, Tensor) or not prediction.requires_grad:
            return
        self._batch = None
        if batch.dim() == 3:
            if not is_yes_or_no_in_place(function, batch, target):
                return
            batch, target = batch.flatten(0, 1), target.flatten()
        labels, classes = class_labels(function, prediction, target)
        if labels is not None and len(labels) < len(batch) and (chosen := chosen_rows(prediction)) is not None:
            batch = batch[chosen.to(batch.device)]
        if labels is None or len(labels) != len(batch) or batch[0].numel() < 2:  # a single column is the task itself
            return
        columns = both_ends(batch[:ROWS].reshape(min(ROWS, len(batch)), -1))
        self._columns = batch[0].numel()
        if self._table is None or not self._table.fits(columns, classes):
            self._table, self._rows, self._reported = Table(columns, classes), 0, 0
        self._table.add(columns, labels[:ROWS])
        self._rows += len(columns)

    def detach(self, step: int) -> None:
        self._due, self._batch = False, None
        if self._table is not None and self._reported < len(EXAMPLES) and self._rows >= EXAMPLES[self._reported]:
            self._reported += 1
            self._waiting.append((step, self._columns, self.queue.put(self._table.verdict())))
            if self._reported == len(EXAMPLES):
                self._table = None

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, width, pending in waiting:
            leak, told_apart, examples, classes, columns, first = (int(number) for number in pending.numbers)
            if leak or (not told_apart and classes >= 2):
                self.context.facts["labels_compared"] = examples
            if not told_apart and classes >= 2:  # and no more examples can change that
                self._reported, self._table = len(EXAMPLES), None
            if bool(leak) != self._was_leak:  # a feature that agreed by chance is taken back
                self._was_leak = bool(leak)
                at = first if first < ENDS or width <= 2 * ENDS else first + width - 2 * ENDS
                facts = {"leak": self._was_leak, "examples": examples, "classes": classes, "columns": columns}
                yield Event(step, "label_in_input", facts | {"first": at, "of": width}, time.time())


class Table:
    """For every class and column the smallest and the largest number, all on the device.

    Examples without a label go to a row of their own, and so do batches of one class, which say nothing about what
    tells classes apart.
    """

    def __init__(self, columns: Tensor, classes: int) -> None:
        width, place = columns.shape[1], columns.device
        self._classes = classes
        self._least = torch.full((classes + 1, width), torch.inf, device=place)
        self._most = -self._least
        self._counts = torch.zeros(classes + 1, device=place)
        self._fine = torch.zeros(width, dtype=torch.bool, device=place)  # columns of more than two numbers
        self._weights = torch.arange(2.0, 2.0 + width, dtype=torch.float64, device=place).sqrt()
        self._marks: list[Tensor] = []  # a number for every example, by which it is known again

    def fits(self, columns: Tensor, classes: int) -> bool:
        return self._classes == classes and self._least[0].shape == columns[0].shape

    def add(self, columns: Tensor, labels: Tensor) -> None:
        columns, labels = columns.to(self._least), labels.to(self._least.device, torch.long)
        counts = (labels >= 0) & (labels < self._classes) & (labels.min() != labels.max())
        labels = torch.where(counts, labels, self._classes)
        at = labels[:, None].expand_as(columns)
        self._least.scatter_reduce_(0, at, columns, "amin")
        self._most.scatter_reduce_(0, at, columns, "amax")
        self._counts.scatter_add_(0, labels, torch.ones_like(labels, dtype=self._counts.dtype))
        self._fine |= ((columns != columns.amin(0)) & (columns != columns.amax(0))).any(0)
        self._marks.append((columns.double() @ self._weights).where(counts, torch.inf))

    def verdict(self) -> Tensor:
        """Whether that is proven, and whether it is so: that every class has a code of its own in the columns that are
        constant within each; by how many different examples and classes; how many such columns there are, and which is
        the first."""
        seen = (self._counts[:-1] >= SEEN)[:, None]
        least = self._least[:-1].where(seen, torch.inf)
        most = self._most[:-1].where(seen, -torch.inf)
        varies = least.amin(0) != most.amax(0)
        tells = ((least == most) | ~seen).all(0) & varies
        codes = least.where(seen & tells, 0.0).double() @ self._weights
        alike = (codes[:, None] == codes) & seen & seen.T
        marks = torch.cat(self._marks).sort().values
        examples = (marks[1:] != marks[:-1]).sum() + marks[0].isfinite().long() - marks[-1].isinf().long()
        coarse = (self._fine & varies).sum() * 2 < varies.sum()
        enough = examples >= torch.where(coarse, DIFFERENT * EXAMPLES[1], DIFFERENT * EXAMPLES[0])
        told_apart = (alike.sum() == seen.sum()) & (seen.sum() >= 2)
        numbers = [told_apart & enough, told_apart, examples, seen.sum(), tells.sum(), tells.int().argmax()]
        return torch.stack(numbers).double()


def is_yes_or_no_in_place(function: str, batch: Tensor, target: Any) -> bool:
    """Whether each place of a sequence is asked for a yes or no of its own: places are then examples, too."""
    if function not in BITS or not isinstance(target, Tensor) or target.dim() > 3:
        return False
    return target.shape[:2] == batch.shape[:2] and target.numel() == batch.shape[0] * batch.shape[1]


def both_ends(table: Tensor) -> Tensor:
    """The first and the last columns of a wide table."""
    return table if table.shape[1] <= 2 * ENDS else torch.cat([table[:, :ENDS], table[:, -ENDS:]], 1)
