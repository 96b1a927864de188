"""Several backward passes before one step: are they micro-batches of one loss, or parts of it?

Micro-batches are alike, and their losses are averaged. The parts of a loss that somebody gives a backward each (a main
and an auxiliary loss, what a critic says of real and of made-up samples) are added up, as their gradients are. They
differ in how the loss was made: in the operations that the graph begins with, or, where these are the same, in a target
that is one number throughout and another one for each part. Parts that are alike even in that come from one forward.

What is now one way and now another (a penalty at some micro-batches) is not a part: it counts when two steps in a row
are made alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bedside.collect.reading.device_queue import DeviceQueue, PendingValue, on_cpu
from bedside.collect.reading.graph_values import kept_as

OPERATIONS = 6  # from the loss back: reduction, weights, the loss function, what makes the prediction
MIN_TARGETS = 2  # a single target is always one number throughout

Kind = tuple[tuple[str, ...], float | None]


class Origin(NamedTuple):
    """How a loss was made."""

    operations: tuple[str, ...]
    target: tuple[float, float] | Tensor | PendingValue | None = None  # the smallest and the largest, if it is kept

    def queued(self, queue: DeviceQueue) -> Origin:
        """The same, with nothing left that holds a tensor."""
        return self._replace(target=queue.put(self.target)) if isinstance(self.target, Tensor) else self

    @property
    def kind(self) -> Kind:
        """What is equal for losses that are made alike, once all numbers have arrived."""
        if self.target is None or isinstance(self.target, Tensor):
            return self.operations, None
        least, most = self.target.numbers if isinstance(self.target, PendingValue) else self.target
        return self.operations, float(least) if least == most else None


def origin_of(loss: Tensor) -> Origin:
    """From the graph of a loss whose backward has not run yet."""
    names: list[str] = []
    target: Any = None
    node = loss.grad_fn
    while node is not None and len(names) < OPERATIONS:
        names.append(node.name())
        if target is None and names[-1].endswith(("LossBackward0", "EntropyBackward0", "LogitsBackward0")):
            target = kept_as(node, "target", unknown=True)
        node = node.next_functions[0][0] if node.next_functions else None
    if not isinstance(target, Tensor) or target.numel() < MIN_TARGETS:
        return Origin(tuple(names))
    ends = torch.stack(target.detach().aminmax()).double()
    return Origin(tuple(names), tuple(ends.tolist()) if on_cpu(ends) else ends)


class LossParts:
    """Sorts the backward passes of a step; one for each optimizer of a round."""

    def __init__(self) -> None:
        self._last: list[Kind] | None = None  # the order of kinds in the step before

    def sorted(self, origins: Sequence[Origin | None], forwards: int) -> list[list[list[int]]]:
        """For each part the places of its micro-batches, each a list of places whose losses belong together.

        >>> step = [Origin(("Nll",)), Origin(("Mean",))] * 2
        >>> LossParts().sorted(step, forwards=2)
        [[[0], [2]], [[1], [3]]]
        >>> LossParts().sorted([Origin(("Nll",))] * 4, forwards=2)
        [[[0, 1], [2, 3]]]
        >>> LossParts().sorted([Origin(("Nll",))] * 4, forwards=4)
        [[[0], [1], [2], [3]]]
        """
        everything = list(range(len(origins)))
        if any(origin is None for origin in origins):
            return [_by_forward(everything, forwards)]
        kinds = [origin.kind for origin in origins if origin is not None]
        order, last = _one_round(kinds), self._last
        self._last = order
        if len(order) == 1 or len(set(order)) < len(order) or last not in (None, order):
            return [_by_forward(everything, forwards)]
        return [_by_forward([at for at in everything if kinds[at] == kind], forwards) for kind in order]


def _one_round(kinds: Sequence[Kind]) -> list[Kind]:
    """The kinds until they repeat themselves in the same order; all of them if they do not."""
    for length in range(1, len(kinds)):
        if all(kind == kinds[at % length] for at, kind in enumerate(kinds)) and len(kinds) % length == 0:
            return list(kinds[:length])
    return list(kinds)


def _by_forward(places: list[int], forwards: int) -> list[list[int]]:
    """More backwards than forwards, and a whole number for each: those of one forward belong together."""
    together = len(places) // forwards if 0 < forwards < len(places) and len(places) % forwards == 0 else 1
    return [places[at : at + together] for at in range(0, len(places), together)]
