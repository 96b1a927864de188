"""The graph of a policy gradient: is the advantage still connected to the network that estimates values?

`-(log_prob * advantage).mean()` teaches the actor; the advantage is a weight and wants no gradient. If it has one, the
same product trains the critic as well, and not towards the returns, but towards whatever makes the product larger.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

# What leaves the numbers as they are; of those that are put together (the steps of an episode) all are made alike.
SHAPING = (
    *("View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Select", "Slice", "Expand"),
    *("Sum", "Clone", "ToCopy", "Neg", "Stack", "Cat"),
)
PICKED = ("Gather", "Index")  # the probability of the action that was taken
LAYERS = ("Addmm", "Mm", "Linear")
FAR = 8  # operations from one end of such a chain to the other
NEAR_THE_LOSS = 64  # nodes: means, sums, constant weights and the other parts of the loss


def weighted_with_gradient(loss: Any) -> bool:
    """Whether a loss has the product of a log-probability and of an advantage that a gradient flows through.

    >>> import torch
    >>> scores, value = (torch.nn.Linear(3, n)(torch.ones(5, 3)) for n in (4, 1))
    >>> policy, returns = torch.distributions.Categorical(logits=scores), torch.ones(5)
    >>> log_prob, advantage = policy.log_prob(policy.sample()), returns - value.squeeze(1)
    >>> [weighted_with_gradient(-(log_prob * each).mean()) for each in (advantage, advantage.detach())]
    [True, False]
    """
    waiting = [loss.grad_fn] if isinstance(loss, Tensor) and loss.grad_fn is not None else []
    for _ in range(NEAR_THE_LOSS):
        if not waiting:
            return False
        node = waiting.pop(0)
        inputs = [each for each, _ in node.next_functions if each is not None]
        if _operation(node) == "Mul" and len(inputs) == 2:
            if any(is_log_probability(a) and _is_advantage(b) for a, b in (inputs, inputs[::-1])):
                return True
        elif _operation(node) in ("Mean", "Add", "Sub", "Mul", "Div", "Minimum", "Stack", *SHAPING):
            waiting += inputs
    return False


def is_log_probability(node: Any) -> bool:
    """A class's own score less the logarithm of the sum of all, or a normal density's; or its ratio to an old one."""
    node = _unshaped(node)
    if _operation(node) == "Exp":
        node = _unshaped(_first(node))
        node = _unshaped(_first(node)) if _operation(node) == "Sub" else node
    if _operation(node) == "Log" and _operation(_unshaped(_first(node))) in PICKED:
        node = _unshaped(_first(node))
    if _operation(node) in PICKED:
        chosen = _unshaped(_first(node))
        for _ in range(FAR):  # log(clamp(p / sum(p))), of a policy that is given as probabilities
            if _operation(chosen) not in ("Clamp", "Log", "Add", "Div"):
                break
            chosen = _unshaped(_first(chosen))
        if _operation(chosen) == "Softmax":
            return True
        return _operation(chosen) == "LogSoftmax" or "Logsumexp" in [_operation(each) for each in _inputs(chosen)]
    names = []
    for _ in range(FAR):
        names.append(_operation(node))
        if node is None or names[-1] not in ("Sub", "Div", "Neg"):
            break
        node = _first(node)
    return names[0] == "Sub" and {"Div", "Neg"} <= set(names) and names[-1] == "Pow"


def _is_advantage(node: Any) -> bool:
    """A difference from the bare answer of a layer, normalised or not."""
    for _ in range(FAR):
        node = _unshaped(node)
        name = _operation(node)
        if name == "Sub" and any(_operation(_unshaped(each)) in LAYERS for each in _inputs(node)):
            return True
        if name not in ("Sub", "Div", "Mul", "Add"):
            return False
        node = _first(node)
    return False


def _operation(node: Any) -> str:
    return "" if node is None else str(node.name()).rpartition("::")[2].partition("Backward")[0]


def _inputs(node: Any) -> list[Any]:
    return [] if node is None else [each for each, _ in node.next_functions if each is not None]


def _first(node: Any) -> Any:
    return next(iter(_inputs(node)), None)


def _unshaped(node: Any) -> Any:
    for _ in range(FAR):
        if _operation(node) not in SHAPING:
            break
        node = _first(node)
    return node
