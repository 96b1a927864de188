"""Whether an output is a derivative itself: a model that differentiates inside `forward` (a Hamiltonian network, forces
as slopes of an energy) needs a graph wherever it is called, in evaluations too.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

NODES = 200  # of the graph, from the output backwards: the backward of a backward stands near its end
BACKWARD_OF_BACKWARD = "BackwardBackward"  # as torch names the nodes, of activations and of products with weights


def is_derivative(output: Any) -> bool:
    """Whether the graph of an output holds the backward of a backward.

    >>> import torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> slope, = torch.autograd.grad(x.tanh().sum(), x, create_graph=True)
    >>> is_derivative(slope), is_derivative(x.tanh())
    (True, False)
    """
    if not isinstance(output, Tensor) or output.grad_fn is None:
        return False
    waiting: list[Any] = [output.grad_fn]
    seen: set[Any] = set()
    while waiting and len(seen) < NODES:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        if BACKWARD_OF_BACKWARD in node.name():
            return True
        waiting += [each for each, _ in node.next_functions if each is not None]
    return False
