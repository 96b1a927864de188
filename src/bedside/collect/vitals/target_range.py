"""Can the output reach the targets at all? A sigmoid answers between 0 and 1, whatever is asked of it.

The last operation before a regression loss tells what the output can be; the targets tell what it should be. Read where
loss functions are called, and for losses written by hand, `((model(x) - y) ** 2).mean()`, from the loss's graph, which
keeps the difference and the output until the backward pass. The first sampled steps decide: a loop asks for one thing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.graph_values import SHAPING, kept_as
from bedside.record.run import Event

MAX_LOOKS = 5  # batches
NEAR = 6  # operations between the loss and the difference: mean, sum, weights, division
TOLERANCE = 0.02  # beyond the range, as a share of its width (of the targets' spread where it has no end)
REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
LOGITS = "binary_cross_entropy_with_logits"  # takes the sigmoid itself, and any target without complaint
RANGES = {
    "Sigmoid": ("sigmoid", 0.0, 1.0),
    "Softmax": ("softmax", 0.0, 1.0),
    "Tanh": ("tanh", -1.0, 1.0),
    "Relu": ("ReLU", 0.0, math.inf),
    "Softplus": ("softplus", 0.0, math.inf),
    "Exp": ("exp", 0.0, math.inf),
}
DIFFERENCES = ("PowBackward0", "AbsBackward0")
PASSED_ON = ("Mean", "Sum", "Div", "Mul", "Add", "Neg", *SHAPING)


class TargetRange(Collector):
    """Compares the range of the last operation with the targets, in the first sampled batches."""

    name = "target range"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._looked = 0
        self._waiting: list[tuple[int, str, str, float, float, PendingValue]] = []

    def attach(self, step: int) -> None:
        self._due = self._looked < MAX_LOOKS

    def detach(self, step: int) -> None:
        self._due = False

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if not self._due or not isinstance(prediction, Tensor) or not isinstance(target, Tensor):
            return
        if prediction.grad_fn is None or not target.is_floating_point() or not target.numel():
            return
        if function == LOGITS:
            self._look(function, ("sigmoid", 0.0, 1.0), target.detach())
        elif function in REGRESSION and (node := maker_of(prediction.grad_fn)) is not None:
            self._look(function, RANGES[operation(node)], target.detach())

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        if self._due and isinstance(tensors, Tensor) and tensors.grad_fn is not None:
            found = targets_in_graph(tensors.grad_fn)
            if found is not None:
                self._look("", *found)

    def _look(self, function: str, reach: tuple[str, float, float], target: Tensor) -> None:
        self._due = False
        self._looked += 1
        made_by, low, high = reach
        values = target.float()
        slack = TOLERANCE * ((high - low) if math.isfinite(high) else values.std(correction=0))
        outside = ((values < low - slack) | (values > high + slack)).double().mean()
        numbers = torch.stack([outside, values.amin().double(), values.amax().double()])
        self._waiting.append((self.context.step, function, made_by, low, high, self.queue.put(numbers)))

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for step, function, made_by, low, high, pending in waiting:
            outside, least, most = (float(number) for number in pending.numbers)
            facts = {
                "function": function,
                "made_by": made_by,
                "low": low,
                "high": high if math.isfinite(high) else None,
            }
            numbers = {"outside": outside, "least": least, "most": most}
            yield Event(step, "target_range", facts | numbers, time.time())


def operation(node: Any) -> str:
    """`Sigmoid` of a node that is called SigmoidBackward0."""
    return str(node.name()).partition("Backward")[0]


def maker_of(node: Any) -> Any:
    """The node of bounded range that made a prediction, whatever reshaped it since; None if it is of another kind."""
    for _ in range(NEAR):
        if node is None:
            return None
        if operation(node) in RANGES:
            return node
        if operation(node) not in SHAPING:
            return None
        node = node.next_functions[0][0]
    return None


def targets_in_graph(root: Any) -> tuple[tuple[str, float, float], Tensor] | None:
    """The targets of a loss that was written by hand: the output of a bounded operation, less the difference that is
    squared or made positive, both of which the graph has kept."""
    level = [root]
    for _ in range(NEAR):
        for node in level:
            if node.name() in DIFFERENCES and (found := _targets_of(node)) is not None:
                return found
        on = [node for node in level if operation(node) in PASSED_ON]
        level = [following for node in on for following, _ in node.next_functions if following is not None]
        if not level or len(level) > 16:  # no longer the loss, but the model
            return None
    return None


def _targets_of(node: Any) -> tuple[tuple[str, float, float], Tensor] | None:
    before = node.next_functions[0][0]
    if before is None or operation(before) not in ("Sub", "Rsub"):
        return None
    given = [following for following, _ in before.next_functions]
    if len(given) != 2 or given.count(None) != 1:  # the target is what needs no gradient
        return None
    made_by = maker_of(given[0] if given[0] is not None else given[1])
    if made_by is None:
        return None
    difference, output = kept_as(node, "self"), kept_as(made_by, "result")
    if difference is None or output is None or difference.numel() != output.numel():
        return None
    sign = 1.0 if given[0] is not None else -1.0
    return RANGES[operation(made_by)], output.detach().reshape(difference.shape) - sign * difference.detach()
