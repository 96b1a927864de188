"""Is there anything between the layers? Several layers without a non-linearity compute no more than one layer could.

The graph of the first predictions shows it: from the last layer with weights back to the inputs there are only products
with weights, sums, shapes and averages, and two layers at least. A layer that is narrower than what goes in and what
comes out is there to be narrow (a factorisation, a code), and so is a network that has one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.reading.graph_values import SHAPING
from bedside.record.run import Event

MAX_LOOKS = 2  # predictions: a model has one graph
MAX_NODES = 2_000  # of the graph: networks without a non-linearity are small
LAYERS = ("Addmm", "Mm", "Linear", "Convolution")
NEUTRAL = (
    *LAYERS,
    *SHAPING,
    "AccumulateGrad",
    "Add",
    "Sub",
    "Neg",
    "Mean",
    "Sum",
    "Mul",
    "Div",
    "Select",
    "Cat",
    "Stack",
    "Expand",
    "NativeDropout",
    "NativeBatchNorm",
    "AvgPool1D",
    "AvgPool2D",
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "MkldnnAdaptiveAvgPool2D",
    "ConstantPadNd",
)


class LinearNetwork(Collector):
    """Walks back from the first predictions that a loss function is given."""

    name = "linear network"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._looked = 0
        self._news: list[Event] = []

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._looked >= MAX_LOOKS or not isinstance(prediction, Tensor) or prediction.grad_fn is None:
            return
        self._looked += 1
        layers = linear_layers(prediction.grad_fn)
        if layers > 1:
            self._looked = MAX_LOOKS
            self._news.append(Event(self.context.step, "linear_network", {"layers": layers}, time.time()))

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news


def linear_layers(root: Any) -> int:
    """How many layers with weights are behind a prediction with nothing between them; 0 if there is something.

    >>> import torch
    >>> from torch import nn
    >>> x = torch.ones(2, 6)
    >>> def layers(*between):
    ...     return linear_layers(nn.Sequential(nn.Linear(6, 8), *between, nn.Linear(8, 1))(x).grad_fn)
    >>> layers(), layers(nn.Dropout(0.5)), layers(nn.ReLU())
    (2, 2, 0)
    >>> linear_layers(nn.Sequential(nn.Linear(6, 2), nn.Linear(2, 6))(x).grad_fn)  # narrow on purpose
    0
    """
    node = root
    while node is not None and _operation(node) not in LAYERS:  # what the last layer's answers are put through
        inputs = [each for each, _ in node.next_functions if each is not None]
        if len(inputs) != 1:
            return 0
        node = inputs[0]
    seen, waiting, shapes = {node}, [node], []
    while waiting:
        node = waiting.pop()
        if node is None or _operation(node) not in NEUTRAL or len(seen) > MAX_NODES:
            return 0
        inputs = [each for each, _ in node.next_functions if each is not None]
        if _operation(node) in LAYERS:
            weights = [weight for each in inputs if (weight := _weight(each)) is not None and weight.dim() > 1]
            if len(weights) != 1:  # a product of two things that were computed, as in attention
                return 0
            out, into = weights[0].shape[:2]
            shapes.append((int(out), int(into)))
        elif _operation(node) in ("Mul", "Div") and len(inputs) > 1 and not any(map(_weight_or_none, inputs)):
            return 0
        waiting += [each for each in inputs if each not in seen]
        seen.update(inputs)
    ends = min(shapes[0][0], shapes[-1][1]) if shapes else 0
    narrow = any(min(shape) < ends for shape in shapes)
    return 0 if narrow else len(shapes)


def _weight(node: Any) -> Tensor | None:
    """The parameter behind a node, whatever turned it."""
    while node is not None and not hasattr(node, "variable"):
        if _operation(node) not in ("T", "Transpose", "View", "Permute", "ToCopy"):
            return None
        node = node.next_functions[0][0]
    return None if node is None else node.variable


def _weight_or_none(node: Any) -> bool:
    return _weight(node) is not None


def _operation(node: Any) -> str:
    return str(node.name()).rpartition("::")[2].partition("Backward")[0]
