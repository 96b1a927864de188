"""How much one element of each part of a loss counts: the constant that it is multiplied by on its way to the loss.

Where a loss is added up from sums and means, within a sample or over all of them, every element has a weight that the
graph knows. Two kinds of parts must have weights that go together: the logarithm of a scale and the square that it
stretches (a density that is stretched by a factor is thinner by the same), and the divergence of a code beside what is
reconstructed from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from bedside.collect.reading.graph_values import kept_as

MAX_NODES = 600  # between the loss and its parts: a flow has a dozen for each layer
SHAPING = ("View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Clone", "ToCopy", "Slice", "Select", "T")
TOGETHER = ("Split", "Stack", "Cat", "Permute", "Transpose")
MEAN, SUM = 1, 2  # as loss functions number their reductions
RECONSTRUCTIONS = ("BinaryCrossEntropyWithLogits", "BinaryCrossEntropy", "MseLoss")
LAYERS = ("Addmm", "Mm", "Bmm", "Linear", "Convolution")
WITHIN = 4000  # nodes behind a square in which its scale is looked for


class Part(NamedTuple):
    """A result that reaches the loss by sums, means and constants alone."""

    node: Any
    weight: float  # of one of its elements


def parts_of(loss: Any) -> Iterator[Part]:
    """What a loss is added up from.

    >>> import torch
    >>> x = torch.ones(4, 5, requires_grad=True)
    >>> loss = ((x - 1).square().mean(1) - 3 * x.exp().sum(1)).mean()
    >>> [(operation(part.node), round(part.weight, 3)) for part in parts_of(loss)]
    [('Pow', 0.05), ('Exp', -0.75)]
    """
    waiting = [(loss.grad_fn, 1.0)] if isinstance(loss, Tensor) and loss.grad_fn is not None else []
    for _ in range(MAX_NODES):
        if not waiting:
            return
        node, weight = waiting.pop()
        name, every = operation(node), [each for each, _ in node.next_functions]
        inputs = [each for each in every if each is not None]
        if name in ("Add", "Sub") and len(every) == 2:
            alpha = float(getattr(node, "_saved_alpha", 1)) * (-1 if name == "Sub" else 1)
            both = zip(every, (weight, weight * alpha), strict=True)
            waiting += [(each, factor) for each, factor in both if each is not None][::-1]
        elif name in ("Neg", "Rsub"):
            waiting += [(each, -weight) for each in inputs]
        elif name == "Sum" or name in SHAPING or name in TOGETHER:
            waiting += [(each, weight) for each in inputs]
        elif name == "Mean" and inputs:
            waiting.append((inputs[0], weight / _averaged(node)))
        elif name in ("Mul", "Div") and len(inputs) == 1 and (factor := _constant(node, every, name)) is not None:
            waiting.append((inputs[0], weight * factor))
        else:
            yield Part(node, weight)


def stretching(loss: Any) -> tuple[float, int] | None:
    """How many times as much the logarithm of a scale counts as the square that it stretches (one, in any density), and
    how many numbers a sample has; None where a loss has no such pair.

    >>> import torch
    >>> scale, x = torch.nn.Linear(3, 3)(torch.ones(4, 3)), torch.ones(4, 3)
    >>> z = x * scale.exp()
    >>> stretching(((z.square() / 2).sum(1) - scale.sum(1)).mean())
    (1.0, 3)
    >>> stretching(((z.square() / 2).mean(1) - scale.sum(1)).mean())
    (3.0, 3)
    """
    parts = list(parts_of(loss))
    linear = {part.node: part.weight for part in parts if operation(part.node) not in ("Pow", "Exp", "Log")}
    for square in parts:
        size = _size(square.node)
        if operation(square.node) != "Pow" or getattr(square.node, "_saved_exponent", None) != 2 or not size:
            continue
        for node in _behind(square.node):
            scale = _base(_first(node)) if operation(node) == "Exp" else None
            if scale in linear and scale is not None and square.weight:
                each = abs(_factor_to(_first(node)) * linear[scale])
                return round(each / abs(2 * square.weight), 6), math.prod(size[1:])
    return None


def divergence(loss: Any) -> tuple[float, Any] | None:
    """The weight of one dimension of a normal code's divergence from the prior, beside that of one reconstructed number
    (None without either), and the graph node that squared the code's means.

    >>> import torch
    >>> mean, log_var = torch.nn.Linear(3, 4)(torch.ones(4, 3)).chunk(2, 1)
    >>> out, x = torch.nn.Linear(2, 3)(mean), torch.ones(4, 3)
    >>> error = torch.nn.functional.binary_cross_entropy_with_logits(out, x, reduction="sum") / 4
    >>> kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp())
    >>> divergence(error + kl.sum(1).mean())[0], divergence(error + kl.mean())[0]
    (1.0, 0.5)
    """
    parts = list(parts_of(loss))
    made = [abs(part.weight) * _reduced(part.node) for part in parts if operation(part.node) in RECONSTRUCTIONS]
    squares = [part for part in parts if operation(part.node) == "Pow" and part.weight > 0]
    for spread, weight in _spreads(parts):
        means = [each for each in squares if each.node is not spread and _alike(each.weight, weight)]
        errors = made or [each.weight for each in squares if each not in means and each.node is not spread]
        if means and errors and errors[0]:
            return 2 * weight / errors[0], means[0].node
    return None


def _spreads(parts: Sequence[Part]) -> Iterator[tuple[Any, float]]:
    """The variances of a normal code and their weights: each comes with its own logarithm, weighted the other way."""
    weights = {part.node: part.weight for part in parts}
    for node, weight in parts:
        if operation(node) == "Exp" and _alike(weights.get(_base(_first(node)), 0.0), -weight):
            yield node, weight
        elif operation(node) == "Log" and weight < 0:
            inner = _base(_first(node))
            of_spread = _base(_first(inner)) if operation(inner) == "Pow" else inner  # log(σ²), or log σ
            times = 1 if operation(inner) == "Pow" else 2
            for each in parts:
                squared = operation(each.node) == "Pow" and _base(_first(each.node)) is of_spread
                if squared and _alike(times * each.weight, -weight):
                    yield each.node, each.weight


def _alike(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-4) and one != 0


def _behind(node: Any) -> Iterator[Any]:
    """The nodes behind this one, up to the layers: what a network makes of a code is no longer the code, stretched."""
    waiting, seen = [node], {node}
    while waiting and len(seen) < WITHIN:
        for following, _ in waiting.pop().next_functions:
            if following is not None and following not in seen and operation(following) not in LAYERS:
                seen.add(following)
                waiting.append(following)
                yield following


def _base(node: Any) -> Any:
    """What is only multiplied by constants and reshaped on the way to this node."""
    return _followed(node)[0]


def _factor_to(node: Any) -> float:
    """The inverse of what it is multiplied by there: of how much the same counts at the node."""
    factor = _followed(node)[1]
    return 1 / factor if factor else 0.0


def _followed(node: Any) -> tuple[Any, float]:
    factor = 1.0
    for _ in range(8):
        name, every = operation(node), [] if node is None else [each for each, _ in node.next_functions]
        inputs = [each for each in every if each is not None]
        if name in (*SHAPING, "Neg", "Split") and inputs:
            node = inputs[0]
        elif name in ("Mul", "Div") and len(inputs) == 1 and (constant := _constant(node, every, name)) is not None:
            node, factor = inputs[0], factor * constant
        else:
            break
    return node, factor


def _averaged(node: Any) -> int:
    """Over how many elements a mean was taken, for each of its results."""
    before = math.prod(node._saved_self_sym_sizes)
    after = math.prod(_size(node) or (1,))
    return max(1, before // max(1, after))


def _reduced(node: Any) -> float:
    """What a loss function's own reduction makes of one element."""
    compared = kept_as(node, "self")
    reduction = getattr(node, "_saved_reduction", SUM)
    return 1 / compared.numel() if reduction == MEAN and isinstance(compared, Tensor) and compared.numel() else 1.0


def _size(node: Any) -> tuple[int, ...] | None:
    metadata = getattr(node, "_input_metadata", None)
    return tuple(metadata[0].shape) if metadata else None


def _constant(node: Any, every: list[Any], name: str) -> float | None:
    value = kept_as(node, "other" if every[0] is not None else "self")
    if not isinstance(value, Tensor) or value.numel() != 1 or not value.is_cpu:
        return None
    constant = float(value.detach().reshape(()).tolist())
    return constant if name == "Mul" else 1 / constant if constant else None


def _first(node: Any) -> Any:
    return next((each for each, _ in node.next_functions if each is not None), None) if node is not None else None


def operation(node: Any) -> str:
    return "" if node is None else str(node.name()).rpartition("::")[2].partition("Backward")[0]
