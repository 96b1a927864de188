"""The targets of a squared error that was written by hand, `((model(x) - y) ** 2).mean()`.

No loss function is called, so no hook sees the targets. The graph of the loss keeps the difference that is squared, and
the model's output less that difference is the target.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from bedside.collect.reading.graph_values import SHAPING, kept_as
from bedside.training.freed_tensors import is_freed

MAX_SHAPING = 6  # reshaping operations between the output and the difference


def targets_of_squared_error(loss: Any, output: Any) -> Tensor | None:
    """What `output` is compared with in a mean of squared differences; None if the loss is made otherwise.

    >>> import torch
    >>> given, wanted = torch.zeros(3, 1, requires_grad=True) * 2, torch.tensor([[1.0], [2.0], [3.0]])
    >>> targets_of_squared_error(((given - wanted) ** 2).mean(), given).flatten().tolist()
    [1.0, 2.0, 3.0]
    >>> targets_of_squared_error(((wanted.flatten() - given.flatten()) ** 2).mean(), given).flatten().tolist()
    [1.0, 2.0, 3.0]
    """
    if not isinstance(loss, Tensor) or not isinstance(output, Tensor) or output.grad_fn is None or is_freed(output):
        return None
    square = _before(loss.grad_fn, "MeanBackward0")
    if square is None or square.name() != "PowBackward0" or getattr(square, "_saved_exponent", None) != 2:
        return None
    difference, less = kept_as(square, "self"), square.next_functions[0][0]
    if difference is None or less is None or not str(less.name()).startswith(("SubBackward", "RsubBackward")):
        return None
    sides = [each for each, _ in less.next_functions]
    if len(sides) != 2 or sides.count(None) != 1 or difference.numel() != output.numel():
        return None  # the target is what needs no gradient, and nothing was broadcast
    if _unshaped(sides[0] or sides[1], output.grad_fn) is not output.grad_fn:
        return None
    sign = 1.0 if (sides[0] is not None) == str(less.name()).startswith("SubBackward") else -1.0
    return output.detach() - sign * difference.detach().reshape(output.shape)


def _before(node: Any, name: str) -> Any:
    """The node that a mean was taken of."""
    return node.next_functions[0][0] if node is not None and node.name() == name else None


def _unshaped(node: Any, wanted: Any) -> Any:
    """Back from a difference through what only reshapes."""
    for _ in range(MAX_SHAPING):
        if node is wanted or node is None or str(node.name()).partition("Backward")[0] not in SHAPING:
            break
        node = node.next_functions[0][0]
    return node
