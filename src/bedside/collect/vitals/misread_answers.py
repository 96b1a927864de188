"""Validation answers under other readings: do they match something other than the targets they are scored by?

Held-out labels numbered differently from the training labels, targets in another unit, tags shifted by one place: the
network is right, and its score says that it is wrong. What was computed for the loss of an evaluation shows it. Of
classes a table is kept of what was answered for which label, and whether the answers agree with the labels one place on
or back; of numbers the sums from which the best straight line from answers to targets follows, and where each answer is
a row of them, how far each is off from each of the row's targets. How many of the last batch's answers are right is
kept besides: an evaluation that forgets to add up its batches logs no more than that.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.inputs import first_input
from bedside.record.run import Event

MAX_CLASSES = 64  # the table is read with every evaluation
MAX_LOOKS = 200  # evaluations
CLASSES = ("cross_entropy", "nll_loss")
NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
HALF = {"binary_cross_entropy": 0.5, "binary_cross_entropy_with_logits": 0.0}  # from there on the answer is yes
MOMENTS = 6  # numbers
MAX_COLUMNS = 6  # of a row of numbers: all 720 orders of them are tried


class MisreadAnswers(Collector):
    """Adds up what the batches of an evaluation were answered, until training goes on."""

    name = "misread answers"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._looks = 0
        self._step = -1
        self._table: Tensor | None = None  # answers by label, and how many agree with the label one on and one back
        self._sums: Tensor | None = None  # of answers, targets, their squares and product, and how many
        self._last: Tensor | None = None  # of the last batch: how many answers are right, of how many
        self._calls = self._rows = 0  # of the loss, and examples that the model was given
        self._news: list[tuple[int, str, PendingValue, dict[str, int]]] = []

    def forward_begins(self, forward: Forward) -> None:
        if (forward.validating or not forward.grad) and self._looks < MAX_LOOKS:
            batch = first_input((forward.args, forward.kwargs))
            self._turn(self.context.step)
            self._rows += len(batch) if batch is not None and batch.dim() else 0

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._looks >= MAX_LOOKS or not isinstance(prediction, Tensor) or not isinstance(target, Tensor):
            return
        if prediction.requires_grad or (torch.is_grad_enabled() and not self._evaluates):
            return
        self._turn(self.context.step)
        if function in HALF and (table := yes_or_no(prediction - HALF[function], target)) is not None:
            function, prediction, target = CLASSES[0], table, target.reshape(-1).long()
        if function in CLASSES and prediction.dim() > 1 and 2 <= prediction.shape[1] <= MAX_CLASSES:
            if not target.is_floating_point():
                numbers = answered(prediction, target)
                fits = self._table is not None and self._table.shape == numbers.shape
                self._table = self._table + numbers if fits and self._table is not None else numbers
                right = numbers[:-2].view(prediction.shape[1], -1).diagonal().sum()
                self._calls, self._last = self._calls + 1, torch.stack([right, numbers[:-2].sum()])
        elif function in NUMBERS and target.is_floating_point() and prediction.shape == target.shape:
            sums = torch.cat([moments(prediction, target), column_moments(prediction, target)])
            fits = self._sums is not None and self._sums.shape == sums.shape
            self._sums = self._sums + sums if fits and self._sums is not None else sums

    @property
    def _evaluates(self) -> bool:
        """Whether there was a forward since the last step that nothing can be learned from."""
        return self._rows > 0 and self._step == self.context.step

    def _turn(self, step: int) -> None:
        if step != self._step:
            self._close()
            self._step = step

    def step_begins(self, optimizer: Any, closure: bool) -> None:
        self._close()

    def end(self) -> None:
        self._close()

    def _close(self) -> None:
        seen = {"calls": self._calls, "rows": self._rows}
        if self._table is not None and self._last is not None:
            self._table = torch.cat([self._table, self._last])
        for kind, numbers in (("classes", self._table), ("numbers", self._sums)):
            if numbers is not None:
                self._looks += 1
                self._news.append((self._step, kind, self.queue.put(numbers), seen))
        self._table = self._sums = self._last = None
        self._calls = self._rows = 0

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        for step, kind, pending, seen in news:
            numbers = torch.from_numpy(pending.numbers)
            if kind == "classes":
                right, examples = (float(each) for each in numbers[-2:])
                facts = other_labels(numbers[:-2])
                last = {"last_right": right / max(examples, 1), "last_examples": int(examples)}
                facts = facts and facts | seen | last
            else:
                facts = other_unit(numbers[:MOMENTS])
                facts = facts and facts | other_order(numbers[MOMENTS:], facts["examples"])
            if facts:
                yield Event(step, "evaluation_answers", {"kind": kind} | facts, time.time())


def answered(prediction: Tensor, target: Tensor) -> Tensor:
    """A table of (label, answer), and after it how many answers agree with the label one place on, and one back."""
    classes = prediction.shape[1]
    answers, labels = prediction.detach().argmax(1).reshape(-1), target.detach().reshape(-1).long()
    inside = ((labels >= 0) & (labels < classes)).double()
    places = labels.clamp(0, classes - 1) * classes + answers
    table = torch.zeros(classes * classes, dtype=torch.float64, device=labels.device).scatter_add_(0, places, inside)
    on, back = (((answers == labels.roll(by)) * inside).sum() for by in (-1, 1))
    return torch.cat([table, torch.stack([on, back])])


def yes_or_no(prediction: Tensor, target: Tensor) -> Tensor | None:
    """Scores of no and of yes, where each example is asked one such question; None where it is not."""
    if not prediction.dim() or prediction.shape != target.shape or target.numel() != len(target):
        return None
    score = prediction.detach().reshape(-1)
    return torch.stack([-score, score], 1)


def moments(prediction: Tensor, target: Tensor) -> Tensor:
    given, wanted = prediction.detach().double().reshape(-1), target.detach().double().reshape(-1)
    sums = [given.sum(), wanted.sum(), given.square().sum(), wanted.square().sum(), (given * wanted).sum()]
    return torch.stack([*sums, torch.ones_like(given).sum()])


def column_moments(prediction: Tensor, target: Tensor) -> Tensor:
    """By column, where each answer is a row of several: sums of the answers' and the targets' squares, of the targets,
    and of all products; nothing otherwise."""
    if prediction.dim() != 2 or not 2 <= prediction.shape[1] <= MAX_COLUMNS:
        return torch.zeros(0, dtype=torch.float64, device=prediction.device)
    given, wanted = prediction.detach().double(), target.detach().double()
    sums = [given.square().sum(0), wanted.square().sum(0), wanted.sum(0), (given.T @ wanted).reshape(-1)]
    return torch.cat(sums)


def other_labels(numbers: Tensor) -> dict[str, Any]:
    """How many answers are right, and how many under the best one-to-one renaming of the labels, or one place off.

    >>> table = torch.zeros(3, 3).double()
    >>> table[0, 1] = table[1, 2] = table[2, 0] = 30
    >>> facts = other_labels(torch.cat([table.reshape(-1), torch.tensor([5.0, 4.0])]))
    >>> facts["right"], facts["renamed"], facts["labels"]
    (0.0, 1.0, 3)
    """
    classes = round((len(numbers) - 2) ** 0.5)
    table, total = numbers[:-2].reshape(classes, classes), float(numbers[:-2].sum())
    if total == 0:
        return {}
    seen = table.sum(1) > 0
    names = table.argmax(1)[seen]
    one_to_one = len(set(names.tolist())) == len(names)
    return {
        "right": float(table.diagonal().sum()) / total,
        "renamed": float(table.amax(1).sum()) / total if one_to_one else 0.0,
        "on": float(numbers[-2]) / total,
        "back": float(numbers[-1]) / total,
        "labels": int(seen.sum()),
        "each_label": [int(each) for each in table.sum(1)],
        "examples": int(total),
    }


def other_order(numbers: Tensor, count: int) -> dict[str, Any]:
    """The squared error under the best other order of a row's targets, that order, and the columns' own variance.

    >>> wanted = torch.tensor([[0.0, 5.0], [1.0, 2.0], [2.0, 8.0], [1.0, 5.0]])
    >>> other_order(column_moments(wanted.flip(1), wanted), 8)
    {'reordered': 0.0, 'order': [1, 0], 'column_spread': 2.5}
    """
    if not len(numbers):
        return {}
    columns = round((9 / 4 + len(numbers)) ** 0.5 - 3 / 2)
    given, wanted, sums = numbers[: 3 * columns].reshape(3, columns)
    products, rows = numbers[3 * columns :].reshape(columns, columns), count / columns
    errors = (given[:, None] + wanted - 2 * products) / rows
    orders = [each for each in itertools.permutations(range(columns)) if each != tuple(range(columns))]
    error, order = min((float(errors[list(range(columns)), list(each)].mean()), each) for each in orders)
    spread = float((wanted / rows - (sums / rows).square()).mean())
    return {"reordered": max(0.0, error), "order": list(order), "column_spread": spread}


def other_unit(numbers: Tensor) -> dict[str, Any]:
    """The squared error of the answers, that of the best straight line from them to the targets, and of their mean.

    >>> given = torch.tensor([0.0, 1.0, 2.0, 3.0])
    >>> facts = other_unit(moments(given, 10 * given + 5))
    >>> [round(facts[key], 6) for key in ("factor", "offset", "line")]
    [10.0, 5.0, 0.0]
    """
    given, wanted, given_squared, wanted_squared, product, count = (float(each) for each in numbers)
    if count < 2:
        return {}
    spread = wanted_squared / count - (wanted / count) ** 2
    own = given_squared / count - (given / count) ** 2
    together = product / count - given * wanted / count**2
    if not own > 0 or not spread > 0:
        return {}
    factor = together / own
    return {
        "error": (given_squared - 2 * product + wanted_squared) / count,
        "line": max(0.0, spread - together * factor),
        "spread": spread,
        "factor": factor,
        "offset": wanted / count - factor * given / count,
        "examples": int(count),
    }
