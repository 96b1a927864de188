"""Several tasks on one loss: how large is the loss of each, and which parameters serve one task only?

`cross_entropy(kind, k) + smooth_l1_loss(box, b)` is recorded as one number, in which a task that learns nothing can
hide behind another. The graph of the loss still has each: a loss function keeps what it was given until the backward
pass, and its branch of the graph ends at the parameters that it trains. What counts is a comparison with something that
needs no gradient, so penalties are no tasks. Values are means over all elements, without the weight that each has in
the sum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.copies import unobserved
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.graph_values import SHAPING, kept_as
from bedside.collect.vitals.loss_graph import graph_leaves
from bedside.collect.vitals.loss_terms import constant_factor
from bedside.record.run import Event

NEAR = 64  # nodes between the loss and its tasks: sums, weights, means
MAX_TASKS = 6  # more are the steps of a sequence
ATTEMPTS = 5  # losses without a second task: then there is none
LOOKS = 16  # while the run doubles, from some of its first steps on
EVENT = "tasks"


class TaskLosses(Collector):
    """Reads the tasks of a loss that has more than one, before the backward pass frees them."""

    name = "task losses"
    vitals = ("task_loss",)
    sampled = False  # the groups' intervals are long, and a handful of readings costs little

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._next = 0  # the step from which on the next loss is looked at
        self._looks = 0
        self._names: list[str] = []  # of the tasks, once there are two
        self._found: tuple[Tensor, list[Task]] | None = None
        self._waiting: list[tuple[int, PendingValue]] = []
        self._news: list[Event] = []

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        self._found = None
        given_up = not self._names and self._looks >= ATTEMPTS
        if given_up or self.context.step < self._next or not isinstance(tensors, Tensor) or tensors.grad_fn is None:
            return
        tasks = tasks_of(tensors.grad_fn) if tensors.numel() == 1 else []
        if 2 <= len(tasks) <= MAX_TASKS and self._names in ([], names_of(tasks)):
            with unobserved():
                values = [value for task in tasks if (value := loss_of(task.node)) is not None]
            if len(values) == len(tasks):
                self._found = (torch.stack([value.double() for value in values]), tasks)

    def backward_ended(self, ours: bool) -> None:
        found, self._found = self._found, None
        if not ours or self.context.step < self._next:
            return
        self._looks += 1
        self._next = self.context.step + max(1, self.context.step // LOOKS)
        if found is None:
            return
        values, tasks = found
        if not self._names:
            self._names = names_of(tasks)
            self._news.append(Event(self.context.step, EVENT, facts_of(tasks), time.time()))
        self._waiting.append((self.context.step, self.queue.put(values)))

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        if waiting:
            table = np.asarray([pending.numbers for _, pending in waiting])
            yield RowSet(self.name, [("task_loss", name) for name in self._names], [step for step, _ in waiting], table)


class Task(NamedTuple):
    """A comparison with a target, and the factor that it has in the loss."""

    node: Any
    weight: float | None  # beside the other tasks; None if it is no constant, or not one number for the whole task
    learned: bool  # it is multiplied by something that is learned itself


def tasks_of(root: Any) -> list[Task]:
    """The comparisons with a target that a loss is made of, from the root on.

    >>> net, x, y = torch.nn.Linear(3, 3), torch.ones(2, 3), torch.zeros(2, dtype=torch.long)
    >>> loss = F.cross_entropy(net(x), y) - 0.1 * F.mse_loss(net(x), x) + 1e-3 * net.weight.abs().sum()
    >>> [(name, task.weight) for name, task in zip(names_of(tasks_of(loss.grad_fn)), tasks_of(loss.grad_fn))]
    [('cross_entropy', 1.0), ('mse_loss', -0.1)]
    """
    while (
        len(inputs := [each for each, _ in root.next_functions if each is not None]) == 1 and _kind(root) not in TASKS
    ):
        root = inputs[0]  # what the whole loss is multiplied by
    found, waiting, seen = [], [Task(root, 1.0, False)], {root}
    for _ in range(NEAR):
        if not waiting:
            break
        task = waiting.pop(0)
        if _kind(task.node) in TASKS:
            if _has_target(task.node):
                found.append(task)
            continue
        following = [
            Task(each, *_passed_on(task, place))
            for place, (each, _) in enumerate(task.node.next_functions)
            if each is not None and each not in seen
        ]
        seen.update(each.node for each in following)
        waiting += following
    return found


def _passed_on(task: Task, place: int) -> tuple[float | None, bool]:
    """The factor of what an operation was given in this place, if the operation's own is that of the task."""
    node, weight, learned = task
    kind, inputs = _kind(node), [each for each, _ in node.next_functions]
    if kind in ("Mul", "Div") and None not in inputs:
        return None, True
    if weight is None:
        return None, learned
    factor: float | None = None
    if kind in SHAPING:
        factor = 1.0
    elif kind == "Neg":
        factor = -1.0
    elif kind in ("Add", "Sub"):
        factor = (float(getattr(node, "_saved_alpha", 1)) if place else 1.0) * (-1 if kind == "Sub" and place else 1)
    elif kind in ("Mul", "Div") and (constant := constant_factor(node, inputs)):
        factor = constant if kind == "Mul" else 1 / constant
    return (None if factor is None else weight * factor), learned


def facts_of(tasks: Sequence[Task]) -> dict[str, Any]:
    """What the record says of them: also whether there are parameters that several train."""
    trained = [{id(leaf) for leaf in graph_leaves([task.node]) or ()} for task in tasks]
    return {
        "tasks": [
            {"name": name, "weight": task.weight, "learned": task.learned}
            for name, task in zip(names_of(tasks), tasks, strict=True)
        ],
        "shared": sum(map(len, trained)) > len(set().union(*trained)),
    }


def names_of(tasks: Sequence[Task]) -> list[str]:
    """The loss functions, numbered where one comes twice."""
    plain = [TASKS[_kind(task.node)][0] for task in tasks]
    return [
        name if plain.count(name) == 1 else f"{name} {plain[: place + 1].count(name)}"
        for place, name in enumerate(plain)
    ]


def loss_of(node: Any) -> Tensor | None:
    """The mean loss that a node of the graph stands for; None where it no longer has what it was given."""
    given, target = kept_as(node, "self", unknown=True), kept_as(node, "target", unknown=True)
    if not isinstance(given, Tensor):
        return None
    with torch.no_grad():
        return TASKS[_kind(node)][1](node, given.detach(), target)


def _kind(node: Any) -> str:
    return str(node.name()).partition("Backward")[0]


def _has_target(node: Any) -> bool:
    """Whether it compares with something that needs no gradient. One that was written by hand is a difference first."""
    if _kind(node) not in BY_HAND:
        return [each for each, _ in node.next_functions][1:].count(None) == len(node.next_functions) - 1
    before = node.next_functions[0][0]
    return before is not None and _kind(before) in ("Sub", "Rsub") and None in [n for n, _ in before.next_functions]


def _labels(node: Any, given: Tensor, target: Any) -> Tensor | None:
    if not isinstance(target, Tensor):
        return None
    shape = (1, -1) if given.dim() == 1 else given.shape
    return F.nll_loss(given.float().reshape(shape), target.reshape(-1) if given.dim() == 1 else target)


def _plain(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Tensor, Any], Tensor | None]:
    return lambda node, given, target: function(given.float(), target.float()) if isinstance(target, Tensor) else None


TASKS: dict[str, tuple[str, Callable[[Any, Tensor, Any], Tensor | None]]] = {
    "NllLoss": ("cross_entropy", _labels),
    "NllLoss2D": ("cross_entropy", _labels),
    "BinaryCrossEntropy": ("binary_cross_entropy", _plain(F.binary_cross_entropy)),
    "BinaryCrossEntropyWithLogits": (
        "binary_cross_entropy_with_logits",
        _plain(F.binary_cross_entropy_with_logits),
    ),
    "MseLoss": ("mse_loss", _plain(F.mse_loss)),
    "SmoothL1Loss": ("smooth_l1_loss", _plain(F.smooth_l1_loss)),
    "HuberLoss": ("huber_loss", _plain(F.huber_loss)),
    "Pow": ("squared error", lambda node, given, target: given.float().square().mean()),
    "Abs": ("absolute error", lambda node, given, target: given.float().abs().mean()),
}
BY_HAND = ("Pow", "Abs")
