"""What the plainest models make of the run's own examples: a linear one, and looking up the nearest neighbours.

A network that has settled and still answers its training examples worse than a straight line answers examples that it
has never seen is held back by something: frozen or badly begun layers, dropped units, a signal that is lost on the way.
So the first few hundred examples of the sampled batches are kept, a ridge regression and a look-up of neighbours are
fitted to three quarters of them and tried on the others, once; and on every sampled step the network's own error on its
batch is noted in the same unit: the share of wrong classes, or the squared error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.squared_error_targets import targets_of_squared_error
from bedside.collect.vitals.inputs import first_input
from bedside.collect.vitals.leaked_labels import class_labels
from bedside.training.freed_tensors import is_freed

EXAMPLES = 512  # a quarter of them to try the simple models on: a share is known to 0.04 then
MIN_TRIED = 64  # that are no copies of those fitted to
ROWS = 128  # of a batch: examples from four batches at least, unless one batch is so large that it stands for all
WHOLE = 2 * EXAMPLES  # examples of a batch that stands for all: at full batch there is no other
COLUMNS = 256  # of an input, spread over it: what they cost is the square of the examples times this
MIXING = 197  # odd, so that its multiples visit all of a power of two
RIDGES = (0.01, 0.1, 1.0)  # of the mean square of an example
NEIGHBOURS = 5
FIT_SECONDS = 0.01  # that fitting takes (measured: 8 to 14 ms): it waits until the run is long enough, or over
SQUARED = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
MAX_TARGETS = 8  # numbers for each example


class SimpleModels(Collector):
    """Keeps the first examples, fits the simple models, and notes the network's own error."""

    name = "simple models"
    vitals = ("fit_error",)

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._batch: Tensor | None = None
        self._output: Tensor | None = None  # of the model, until the loss is made of it
        self._classes = 0  # of the labels; 0 where the target is numbers
        self._kept: list[tuple[Tensor, Tensor]] = []  # until there are enough
        self._done = False
        self._error: Tensor | None = None
        self._errors: list[tuple[int, PendingValue]] = []
        self._fitted: PendingValue | None = None

    def attach(self, step: int) -> None:
        self._due = True

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            batch = first_input((forward.args, forward.kwargs))
            self._batch = batch.detach() if batch is not None and batch.dim() > 1 else None

    def forward_ended(self, output: Any) -> None:
        if self._batch is not None and isinstance(output, Tensor) and output.requires_grad:
            self._output = output

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        output, self._output = self._output, None
        if self._batch is not None and output is not None:
            self.loss_computed("mse_loss", output, targets_of_squared_error(tensors, output))

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        batch, self._batch = self._batch, None
        if batch is None or is_freed(batch) or not isinstance(prediction, Tensor) or not prediction.requires_grad:
            return
        wanted, classes = class_labels(function, prediction, target)
        answered = prediction.detach()
        if wanted is not None and len(wanted) == len(batch):
            wanted = wanted.reshape(-1)
            answers = answered.argmax(1) if function not in _BITS else (answered.reshape(-1) > _BITS[function])
            self._look(batch, wanted.long(), classes, (answers.long() != wanted.long()).double().mean())
        elif function in SQUARED and (columns := numbers_each(answered, target, len(batch))) is not None:
            self._look(batch, columns, 0, (answered.reshape(columns.shape).float() - columns).double().square().mean())

    def _look(self, batch: Tensor, wanted: Tensor, classes: int, error: Tensor) -> None:
        self._due, self._error = False, error
        if self._done or self._has_enough:
            return
        rows = ROWS
        if len(batch) >= WHOLE:
            rows, places = EXAMPLES, spread(len(batch)).to(batch.device)
            batch, wanted = batch[places], wanted[places]
        table = features(batch[:rows])
        if classes != self._classes or (self._kept and self._kept[0][0].shape[1] != table.shape[1]):
            self._classes, self._kept = classes, []
        self._kept.append((table, wanted[:rows].clone()))

    def detach(self, step: int) -> None:
        self._due, self._batch, self._output = False, None, None
        if self._error is not None:
            self._errors.append((step, self.queue.put(self._error.reshape(1))))
            self._error = None
        if self._has_enough and self.context.affords(FIT_SECONDS):
            self._fit()

    def end(self) -> None:
        if self._has_enough:
            self._fit()

    @property
    def _has_enough(self) -> bool:
        return sum(len(rows) for rows, _ in self._kept) >= EXAMPLES

    def _fit(self) -> None:
        self._done = True
        columns, wanted = (torch.cat(each)[:EXAMPLES] for each in zip(*self._kept, strict=True))
        self._kept = []
        self._fitted = self.queue.put(tried(columns, wanted, self._classes))

    def rows(self) -> Iterable[RowSet]:
        errors, self._errors = self._errors, []
        if errors:
            values = np.asarray([[float(pending.numbers[0])] for _, pending in errors])
            yield RowSet("simple models", [("fit_error", "")], [step for step, _ in errors], values)
        if self._fitted is not None:
            pending, self._fitted = self._fitted, None
            linear, neighbours, guess, examples = (float(number) for number in pending.numbers)
            if examples >= MIN_TRIED and np.isfinite([linear, neighbours, guess]).all():
                answered = {"linear": linear, "neighbours": neighbours, "guess": guess}
                self.context.facts["simple_models"] = answered | {"examples": int(examples), "classes": self._classes}


_BITS = {"binary_cross_entropy": 0.5, "binary_cross_entropy_with_logits": 0.0}


def spread(examples: int) -> Tensor:
    """Places all over a batch, in a mixed order: examples that are sorted are tried on all kinds, not on the last ones.

    >>> places = spread(2000)
    >>> len(set(places.tolist())), int(places.min()), int(places.max())
    (512, 0, 1999)
    """
    mixed = torch.arange(EXAMPLES) * MIXING % EXAMPLES
    return torch.linspace(0, examples - 1, EXAMPLES).long()[mixed]


def features(batch: Tensor) -> Tensor:
    """A table of a batch: its numbers, spread over an example, or how often each token occurs in it."""
    flat = batch.reshape(len(batch), -1)
    if not flat.is_floating_point():
        counts = torch.zeros(len(flat), COLUMNS, device=flat.device)
        return counts.scatter_add_(1, flat.long().remainder(COLUMNS), torch.ones_like(flat, dtype=counts.dtype))
    if flat.shape[1] > COLUMNS:
        flat = flat[:, torch.linspace(0, flat.shape[1] - 1, COLUMNS, device=flat.device).long()]
    return flat.float().clone()


def numbers_each(answered: Tensor, target: Any, examples: int) -> Tensor | None:
    """The targets of a regression, one row for each example; None where they are something else."""
    if not isinstance(target, Tensor) or not target.is_floating_point() or target.shape != answered.shape:
        return None
    if not target.dim() or len(target) != examples or target.numel() > MAX_TARGETS * examples:
        return None
    return target.detach().reshape(examples, -1).float()


def tried(columns: Tensor, wanted: Tensor, classes: int = 0) -> Tensor:
    """The errors of a linear model, of the nearest neighbours and of a blind guess on examples that they were not
    fitted to, and how many these are: the share of wrong classes, or the squared error of numbers.

    >>> x = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    >>> linear, neighbours, guess, examples = tried(x, x.sum(1, keepdim=True)).tolist()
    >>> linear < 0.01 * guess, neighbours < guess, int(examples)
    (True, True, 100)
    """
    split = len(columns) * 3 // 4
    targets = (wanted[:, None] == torch.arange(classes, device=wanted.device)).double() if classes else wanted.double()
    fit, rest = columns[:split].double(), columns[split:].double()
    mean, spread = fit.mean(0), fit.std(0, correction=0).clamp(min=1e-6)
    fit, rest = (fit - mean) / spread, ((rest - mean) / spread).clamp(-10, 10)
    middle = targets[:split].mean(0)
    inside, across = fit @ fit.T, rest @ fit.T
    size = inside.diagonal().mean()
    apart = (rest.square().sum(1, keepdim=True) + inside.diagonal()) - 2 * across
    new = apart.amin(1) > 1e-9 * size  # and no copy of an example that was fitted to
    ridges = [inside + share * size * torch.eye(split, dtype=inside.dtype, device=inside.device) for share in RIDGES]
    linear = [middle + across @ torch.linalg.solve_ex(each, targets[:split] - middle).result for each in ridges]
    nearest = targets[:split][apart.topk(NEIGHBOURS, largest=False).indices].mean(1)

    def error(answered: Tensor) -> Tensor:
        off = answered.argmax(1) != wanted[split:] if classes else (answered - targets[split:]).square().mean(1)
        return (off * new).sum() / new.sum()

    errors = [torch.stack([error(each) for each in linear]).amin(), error(nearest), error(middle.expand_as(nearest))]
    return torch.stack([*errors, new.sum().double()])
