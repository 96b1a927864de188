"""Whether the loss is a score: a mean of the network's own outputs, with nothing that says how good they are.

The critic of a Wasserstein GAN raises its output on one kind of sample and lowers it on another, an energy-based model
does the same, and a generator or an actor raises what another network says of it. Such a loss has no level to fall to.
In the graph, a layer's output then reaches the loss through sums, means and constant factors alone. A likelihood holds
outputs in that way as well (the logits of a cross-entropy, a log-variance), but beside an exponential of the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.reading.graph_values import kept_as

ATTEMPTS = 20  # backwards looked at before giving up: a critic takes five to ten steps for one of the generator
MAX_NODES = 300  # between the loss and the last layers
LAYERS = ("AddmmBackward", "ConvolutionBackward", "MmBackward", "MvBackward", "LinearBackward", "BmmBackward")
LINEAR = (
    "AddBackward", "SubBackward", "RsubBackward", "NegBackward", "MeanBackward", "SumBackward", "ViewBackward",
    "ReshapeAliasBackward", "SqueezeBackward", "UnsqueezeBackward", "SelectBackward", "SliceBackward", "SplitBackward",
    "TBackward", "StackBackward", "CatBackward",
)  # fmt: skip
NORMALISED = ("Exp", "Log", "Soft", "Sigmoid")  # what a likelihood puts beside


class ScoreObjective(Collector):
    """Tells `objective`, once."""

    name = "objective"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._attempts = 0
        self._found = False

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        if self._attempts < ATTEMPTS:
            roots = [tensors] if isinstance(tensors, Tensor) else tensors
            self._found = any(is_score(each.grad_fn) for each in roots if isinstance(each, Tensor))

    def backward_ended(self, ours: bool) -> None:
        if self._attempts < ATTEMPTS:
            self._attempts = ATTEMPTS if ours else self._attempts + 1
            if ours and self._found:
                self.context.facts.setdefault("objective", "score")


def is_score(root: Any) -> bool:
    """Whether the output of a layer reaches the loss as it is, and in no other way.

    >>> import torch
    >>> critic, x = torch.nn.Linear(3, 1), torch.randn(5, 3)
    >>> is_score((critic(x).mean() - critic(-x).mean()).grad_fn), is_score(critic(x).square().mean().grad_fn)
    (True, False)
    """
    reached: dict[Any, set[str]] = {}
    seen: set[tuple[Any, str]] = set()
    stack = [(root, "linear")]
    while stack and len(seen) < MAX_NODES:
        node, way = stack.pop()
        if node is None or (node, way) in seen:
            continue
        seen.add((node, way))
        name = node.name()
        if name.startswith(LAYERS):
            reached.setdefault(node, set()).add(way)
            continue
        if name.startswith(NORMALISED):
            way = "normalised"
        elif way == "linear" and not (name.startswith(LINEAR) or _is_scaled(node, name)):
            way = "other"
        stack += [(following, way) for following, _ in node.next_functions]
    return any("linear" in ways and "normalised" not in ways for ways in reached.values())


def _is_scaled(node: Any, name: str) -> bool:
    """Multiplied or divided by a constant."""
    if not name.startswith(("MulBackward", "DivBackward")):
        return False
    other = kept_as(node, "other")  # a plain number is kept otherwise
    return other is None or (other.numel() == 1 and not other.requires_grad)
