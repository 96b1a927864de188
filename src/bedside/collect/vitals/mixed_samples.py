"""Does one sample's answer depend on the others in its batch? A few samples are exchanged; the answers to the others
must not change.

A softmax over the wrong dimension, attention that takes the batch for the sequence, a hand-written normalisation over
the batch: all of them train, and all answer differently when the rest of the batch is different. That is tried once,
some steps into the run: the batch goes through copies of the model in evaluation mode, the second time with its first
and last samples exchanged for copies of others (`probes.py`).

Looked at are batches of which it is certain what a sample is: prediction and target have one row for each of the
input's, and no other dimension is as long, but for the columns of a plain table; or the prediction is a table of all
pairs, of which those are compared whose two samples both stay. A batch that is the same at every step is a graph, whose
nodes may talk.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.model.stored import stored
from bedside.collect.probes import not_probed
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import floating_in, tensors_in
from bedside.collect.vitals.inputs import fingerprint, first_input
from bedside.collect.vitals.leaked_future import exchanged
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed
from bedside.training.model_copy import NotCopied

FIRST_STEP = 10  # steps before the trial: branches that are initialised with zeros pass nothing on at first
MIN_SAMPLES = 4  # samples of a batch
TRIALS = 3  # batches that may turn out to be unsuitable
ROUNDING = 1e-4  # of the largest answer: other sums in another order change less than a thousandth of this
MAX_KEPT = 8  # fingerprints of batches, by which it is known that they are not always the same


class MixedSamples(Collector):
    """Tries once whether the samples of a batch are answered one by one."""

    name = "mixed samples"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._trials = 0
        self._refused: list[Event] = []
        self._done = False
        self._forward: Forward | None = None
        self._marks: list[Tensor] = []
        self._tried: list[tuple[int, int, int, PendingValue]] = []

    def attach(self, step: int) -> None:
        self._due = not self._done

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating and forward.training:
            self._due = False
            batch = first_input((forward.args, forward.kwargs))
            if batch is None or not batch.dim() or len(batch) < MIN_SAMPLES:
                return
            self._marks = [*self._marks[-MAX_KEPT:], fingerprint(batch)]
            self._forward = forward if self.context.step >= FIRST_STEP else None

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        forward, self._forward = self._forward, None
        if forward is None or not isinstance(prediction, Tensor) or not isinstance(target, Tensor):
            return
        given = (forward.args, forward.kwargs)
        batch = first_input(given)
        if batch is None or not is_one_row_each(batch, prediction, target):
            return
        if is_off_limits(forward.module) or relates_rows(given, batch):
            return
        self._trials += 1
        self._done = self._trials >= TRIALS
        self._try(forward, batch)

    def detach(self, step: int) -> None:
        self._due, self._forward = False, None

    def _try(self, forward: Forward, batch: Tensor) -> None:
        rows, new = len(batch), max(1, len(batch) // 4)  # so many at both ends: a recurrence has a direction
        changed = copy.copy(forward)
        for each in tensors_in((forward.args, forward.kwargs)):
            if each.dim() and len(each) == rows and not is_freed(each):
                other = torch.cat([each[new : 2 * new], each[new : rows - new], each[new : 2 * new]]).detach()
                changed.args, changed.kwargs = exchanged((changed.args, changed.kwargs), each, other)
        try:
            outputs = self.context.probes.answers([forward, changed], nn.Module.eval)
        except NotCopied as why:
            self._done = True
            self._refused.append(not_probed(self.context.step, self.name, why))
            return
        before, after = (answers_in(each, rows) for each in outputs)
        if before is None or after is None or before.shape != after.shape:
            return
        before, after = (kept_samples(each, new) for each in (before, after))
        changes = differences(before, after)
        always_the_same = torch.stack([mark == self._marks[-1] for mark in self._marks]).all().double().cpu()
        self._done = True
        results = self.queue.put(torch.cat([changes, always_the_same[None]]))
        self._tried.append((self.context.step, rows, 2 * new, results))

    def events(self) -> Iterable[Event]:
        refused, self._refused = self._refused, []
        yield from refused
        tried, self._tried = self._tried, []
        for step, rows, new, pending in tried:
            changed, largest, scale, always_the_same = (float(number) for number in pending.numbers)
            if changed and not always_the_same:
                facts = {"samples": rows, "exchanged": new, "changed": int(changed), "change": largest / scale}
                yield Event(step, "mixed_samples", facts, time.time())


def is_one_row_each(batch: Tensor, prediction: Tensor, target: Tensor) -> bool:
    """Whether it is certain that the first dimension of all three counts the samples, and no other does.

    A table of numbers has its samples in rows, be it square; sequences may come time first.

    >>> answers, labels = torch.zeros(64, 10, requires_grad=True), torch.zeros(64)
    >>> [is_one_row_each(torch.zeros(shape), answers, labels) for shape in ((64, 64), (64, 64, 8), (64, 30, 8))]
    [True, False, True]
    """
    rows = len(batch)
    counted = prediction.dim() and target.dim() and len(prediction) == rows and len(target) == rows
    plain = batch.dim() == 2 and batch.is_floating_point()
    pairs = is_table(prediction, rows)
    others = (
        *(() if plain else batch.shape[1:]),
        *(() if pairs else prediction.shape[1:]),
        *target.shape[1:],
    )
    return bool(counted) and prediction.requires_grad and rows not in others


def relates_rows(given: Any, batch: Tensor) -> bool:
    """Whether another input says which rows belong together: the edges of a graph, or a table of all pairs.

    >>> nodes, labels, mask = torch.zeros(60, 6), torch.zeros(60, dtype=torch.long), torch.zeros(9, 9)
    >>> edges, adjacency = torch.zeros(2, 59, dtype=torch.long), torch.zeros(60, 60)
    >>> [relates_rows((nodes, other), nodes) for other in (labels, mask, edges, adjacency, adjacency.to_sparse())]
    [False, False, True, True, True]
    """
    others = [each for each in tensors_in(given) if each is not batch and each.dim()]
    return any(
        each.layout is not torch.strided
        or is_table(each, len(batch))
        or (len(each) != len(batch) and not each.is_floating_point() and each.dtype is not torch.bool)
        for each in others
    )


def is_off_limits(module: nn.Module) -> bool:
    """Whether a normalisation takes the batch's statistics by design, in evaluation as well."""
    return any(isinstance(each, _NormBase) and not stored(each, "track_running_stats") for each in module.modules())


def answers_in(output: Any, rows: int) -> Tensor | None:
    """The first tensor of the output that has a row for each sample; a table of all pairs only where there is no other.

    >>> answers_in([torch.ones(7, 7), torch.ones(7, 2)], 7).shape, answers_in(torch.ones(7, 7), 7).shape
    (torch.Size([7, 2]), torch.Size([7, 7]))
    """
    found = [each for each in floating_in(output) if each.dim() and len(each) == rows]
    rowwise = [each for each in found if rows not in each.shape[1:]]
    tables = [each for each in found if is_table(each, rows)]
    return next((each.detach() for each in [*rowwise, *tables]), None)


def is_table(answers: Tensor, rows: int) -> bool:
    """Whether these are all pairs of the samples, as in contrastive learning."""
    return tuple(answers.shape) == (rows, rows)


def kept_samples(answers: Tensor, new: int) -> Tensor:
    """The answers to samples that were not exchanged, or to the pairs of two such samples."""
    stay = slice(new, len(answers) - new)
    return answers[stay, stay] if is_table(answers, len(answers)) else answers[stay]


def differences(before: Tensor, after: Tensor) -> Tensor:
    """How many samples are answered differently, by how much, and how large answers are."""
    before, after = (each.reshape(len(each), -1).double() for each in (before, after))
    scale = before.abs().amax().clamp(min=1e-12)
    by = (after - before).abs().amax(1)
    return torch.stack([(by > ROUNDING * scale).sum().double(), by.amax(), scale]).cpu()
