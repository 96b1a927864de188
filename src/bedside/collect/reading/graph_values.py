"""Where a non-finite number began, read from what the forward pass left for its backward pass.

Autograd keeps, for most operations, what they were given or what they made. A kept tensor knows the node that made it,
so that before the backward pass many results of the forward are known, and no second forward is needed. What is not
kept is often known to be finite all the same: a sum or a product of numbers that are far from overflowing
(`result_bounds.py`). Where even that is not known, all operations that may have been the first are candidates.

Tensors that somebody else packed away (activation checkpointing) are left alone, because to unpack them would run the
user's forward once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bedside.collect.reading.result_bounds import HARMLESS, Operand, is_sum_in_a_wide_type, largest_result
from bedside.training.freed_tensors import is_freed

MAX_NODES = 200_000  # of a graph: a walk of this many takes about a quarter of a second
MASKS = ("MaskedFillBackward", "WhereBackward", "AddBackward")  # -inf behind these is a mask, and meant
SHAPING = frozenset(
    (
        "View",
        "ReshapeAlias",
        "UnsafeView",
        "Squeeze",
        "Unsqueeze",
        "Transpose",
        "Permute",
        "T",
        "Clone",
        "ToCopy",
        "Slice",
    )
)  # operations that hand the same numbers on in another shape
UNUSED = ("running_mean", "running_var")  # of a normalisation, which does not use them while it trains


@dataclass
class GraphValues:
    """The operations of a loss in the order in which the forward made them, and what is known about their results."""

    nodes: list[Any]
    largest: dict[Any, float]  # absolute value of each result, or more; inf and NaN where it holds one
    given: set[Any]  # those that were given NaN by something that needs no gradient, which left no trace

    def origins(self) -> list[Any]:
        """The nodes of which one made the first non-finite number, in forward order; empty if there is none."""
        first = next((node for node in self.nodes if math.isnan(self.largest.get(node, 0.0))), None)
        first = first or next((node for node in self.nodes if math.isinf(self.largest.get(node, 0.0))), None)
        if first is None:
            return []
        region = self._back_from(first)
        overflowed = next((node for node in region if math.isinf(self.largest.get(node, 0.0))), first)
        if overflowed is not first:  # infinities become NaN a few operations later
            region = self._back_from(overflowed)
        makers = [node for node in region if node.name() not in HARMLESS]
        return [node for node in makers if not is_sum_in_a_wide_type(node)] or makers or region

    def _back_from(self, start: Any) -> list[Any]:
        """This node and those before it, as far back as nothing is known to be finite."""
        found, waiting = {start}, [start]
        while waiting:
            for before, _ in waiting.pop().next_functions:
                unknown = before is not None and not math.isfinite(self.largest.get(before, math.nan))
                if unknown and before not in found and not is_leaf(before):
                    found.add(before)
                    waiting.append(before)
        return [node for node in self.nodes if node in found]


def graph_values(loss: Tensor) -> GraphValues | None:
    """What the graph of a loss knows; None if it has none, or one that is too large."""
    nodes = forward_order(loss)
    if not nodes:
        return None
    largest: dict[Any, float] = {nodes[-1]: float(loss.detach().abs())}
    constants: dict[Any, list[Operand]] = {}
    given: set[Any] = set()
    for node in nodes:
        for name, tensor in _kept_by(node):
            plain = tensor.layout is torch.strided and (tensor.is_floating_point() or not tensor.dim())  # or a factor
            if not plain or name in UNUSED or is_freed(tensor):
                continue
            made_by = tensor.grad_fn
            size = _largest(tensor, "" if made_by is None else made_by.name())
            constants.setdefault(node, []).append(Operand(name, size, tuple(tensor.shape)))
            if made_by is not None:
                largest[made_by] = _worse(size, largest.get(made_by, 0.0))
            elif math.isnan(size) and not isinstance(tensor, nn.Parameter):
                largest[node] = size
                if tensor.dim():  # and no number that this operation itself was written with
                    given.add(node)
    for node in nodes:
        if node not in largest:
            bound = largest_result(node, constants.get(node, ()), lambda before: _known(before, largest))
            if bound is not None:
                largest[node] = bound
    return GraphValues(nodes, largest, given)


def forward_order(loss: Tensor) -> list[Any]:
    """The operations that led to the loss, the first one first; none if there are too many."""
    seen = {loss.grad_fn} - {None}
    waiting = list(seen)
    while waiting:
        for before, _ in waiting.pop().next_functions:
            if before is not None and before not in seen:
                seen.add(before)
                waiting.append(before)
        if len(seen) > MAX_NODES:
            return []
    return sorted((node for node in seen if not is_leaf(node)), key=number_of)


def number_of(node: Any) -> int:
    """Operations are numbered in the order in which a thread records them."""
    return int(node._sequence_nr())


def is_leaf(node: Any) -> bool:
    return hasattr(node, "variable")


def _known(node: Any, largest: dict[Any, float]) -> float | None:
    if is_leaf(node) and node not in largest:
        largest[node] = _largest(node.variable, "")
    return largest.get(node)


def _kept_by(node: Any) -> Iterator[tuple[str, Tensor]]:
    for name in _kept_names(node):
        kept = kept_as(node, name)
        yield from ((name, each) for each in (kept if isinstance(kept, Sequence) else (kept,)) if _is_tensor(each))


def kept_as(node: Any, name: str, unknown: bool = False) -> Any:
    """What a node of the graph keeps under this name; None where asking would run somebody's code (checkpointing
    repeats the forward) or there is nothing: overwritten in place since, or freed by an earlier backward. `unknown` is
    what to do with a torch that cannot tell: to ask all the same is right for what a loss function was given, which is
    hardly ever packed away."""
    try:
        packed = getattr(node, f"_raw_saved_{name}")
        if not all(_is_plain(each, unknown) for each in (packed if isinstance(packed, Sequence) else (packed,))):
            return None
        return node.saved_tensors if name == "tensors" else getattr(node, f"_saved_{name}")
    except (AttributeError, RuntimeError):
        return None


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _is_plain(packed: Any, unknown: bool) -> bool:
    """Whether reading it runs nobody's code; torch before 2.9 cannot tell."""
    return packed.unpack_hook is None if hasattr(packed, "unpack_hook") else unknown


_names: dict[type, tuple[str, ...]] = {}


def _kept_names(node: Any) -> tuple[str, ...]:
    kind = type(node)
    if kind not in _names:
        prefix = "_raw_saved_"
        _names[kind] = tuple(each.removeprefix(prefix) for each in dir(node) if each.startswith(prefix))
    return _names[kind]


def _largest(tensor: Tensor, maker: str) -> float:
    """The largest absolute value: NaN if it holds one. Behind a mask, -inf is not an overflow."""
    values = tensor.detach()
    if not values.numel():
        return 0.0
    size = float(values.abs().amax())
    if math.isinf(size) and maker.startswith(MASKS) and not bool((values == torch.inf).any()):
        return float(values.masked_fill(values == -torch.inf, 0.0).abs().amax())
    return size


def _worse(one: float, other: float) -> float:
    return one if math.isnan(one) else max(other, one) if not math.isnan(other) else other
