"""The narrowest place of the network: how many numbers of an example every answer passes through.

Ten classes behind a layer of two units cannot be separated, however long one trains. The graph of the first
predictions knows such a place: from the answers backwards, as long as there is one way only (no skip connection, no
second branch), whatever the network knows of an example is in the numbers at that place.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.vitals.loss_graph import shape_of

LOSSES = ("cross_entropy", "nll_loss")
MAX_NODES = 200  # operations on the way back
# What may be done to a weight before it is used.
TURNED = ("TBackward0", "ToCopyBackward0", "ViewBackward0", "TransposeBackward0", "PermuteBackward0")


class Narrowest(Collector):
    """Records `narrowest`, once, for a classifier: one row of scores per example."""

    name = "narrowest"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._done = False

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._done or function not in LOSSES or not isinstance(prediction, Tensor) or prediction.grad_fn is None:
            return
        self._done = True
        if prediction.dim() == 2 and (width := narrowest(prediction)):
            self.context.facts["narrowest"] = width


def narrowest(scores: Tensor) -> int:
    """The fewest numbers per example on the one way to these scores, their own not counted; 0 if it forks at once.

    >>> from torch import nn
    >>> import torch
    >>> net = nn.Sequential(nn.Linear(9, 8), nn.Tanh(), nn.Linear(8, 3), nn.ReLU(), nn.Linear(3, 5))
    >>> narrowest(net(torch.ones(4, 9)))
    3
    """
    examples, least = len(scores), math.inf
    node, past_the_head = scores.grad_fn, False
    for _ in range(MAX_NODES):
        if node is None:
            break
        shape = shape_of(node)
        if not shape or shape[0] != examples:
            break
        if past_the_head:
            least = min(least, math.prod(shape[1:]))
        ways = [each for each, _ in node.next_functions if each is not None and not _is_weight(each)]
        past_the_head = past_the_head or len(ways) < sum(each is not None for each, _ in node.next_functions)
        node = ways[0] if len(ways) == 1 else None
    return int(least) if math.isfinite(least) else 0


def _is_weight(node: Any) -> bool:
    """A parameter, or one that was turned or rounded for the product: nothing of the example is in it."""
    while node.name() in TURNED and node.next_functions[0][0] is not None:
        node = node.next_functions[0][0]
    return bool(node.name().endswith("AccumulateGrad"))
