"""The graph of a policy's loss: is the agent paid for being undecided, or for being certain?

An entropy bonus is taken off the loss: `policy_loss - 0.01 * entropy.mean()`. With the other sign, the fastest way down
is a policy that always does the same, whatever it pays. The graph of the loss has both: the product of a
log-probability and of an advantage, and the sum of p · log p of the same policy (or the logarithm of a normal
distribution's scale), each with its constant weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from bedside.collect.reading.graph_values import kept_as
from bedside.collect.reading.policy_gradient import is_log_probability

NEAR_THE_LOSS = 96  # nodes: means, sums, constant weights and the other parts of the loss
SHAPING = ("View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Clone", "ToCopy", "Expand", "Slice", "Select")
ADDED = (*SHAPING, "Mean", "Sum", "Stack", "Cat")
PROBABILITIES = ("Softmax", "Exp", "Div")  # the last: divided by their sum
FAR = 6  # operations between a product and the scores that both of its sides come from
NEARBY = 24  # nodes of a log-probability


def paid_for_certainty(loss: Any) -> bool:
    """Whether the loss of a policy gradient falls with the entropy of its policy.

    >>> import torch
    >>> layer, gain = torch.nn.Linear(3, 4), torch.ones(5)
    >>> policy = torch.distributions.Categorical(logits=layer(torch.ones(5, 3)))
    >>> actor = -(policy.log_prob(policy.sample()) * gain).mean()
    >>> [paid_for_certainty(actor + weight * policy.entropy().mean()) for weight in (-0.01, 0.01)]
    [False, True]
    """
    learns, entropies, scales, scored = False, 0.0, [], set()
    for node, weight in _parts(loss):
        name, inputs = _operation(node), _inputs(node)
        if name == "Mul" and len(inputs) == 2 and _are_p_log_p(*inputs):
            entropies = max(entropies, -weight)
        elif name == "Log" and inputs:
            scales.append((_bare(inputs[0]), weight))
        elif name == "Mul" and any(is_log_probability(each) for each in inputs):
            learns = True
            scored |= {_bare(_inputs(each)[0]) for each in _near(inputs) if _operation(each) == "Log" and _inputs(each)}
    widened = any(weight > 0 and scale in scored for scale, weight in scales)
    return learns and (entropies > 0 or widened)


def _parts(loss: Any) -> Iterator[tuple[Any, float]]:
    """What a loss is added up from, with the sign that its constant weights give it."""
    waiting = [(loss.grad_fn, 1.0)] if isinstance(loss, Tensor) and loss.grad_fn is not None else []
    for _ in range(NEAR_THE_LOSS):
        if not waiting:
            return
        node, weight = waiting.pop(0)
        name, every = _operation(node), [each for each, _ in node.next_functions]
        inputs = _inputs(node)
        if name == "Add" or (name == "Sub" and len(every) == 2):
            last = -weight if name == "Sub" else weight
            waiting += [(each, part) for each, part in zip(every, (weight, last), strict=True) if each is not None]
        elif name in ("Neg", "Rsub"):
            waiting += [(each, -weight) for each in inputs]
        elif name in ADDED:
            waiting += [(each, weight) for each in inputs]
        elif name in ("Mul", "Div") and len(inputs) == 1 and (constant := _constant(node, every)) is not None:
            waiting.append((inputs[0], weight * constant))
        elif name in ("Minimum", "Where", "Maximum"):  # a clipped surrogate: either side is the product
            waiting += [(each, weight) for each in inputs]
        else:
            yield node, weight


def _are_p_log_p(one: Any, other: Any) -> bool:
    """Whether these are probabilities and their own logarithms."""
    for probability, logarithm in ((_bare(one), _bare(other)), (_bare(other), _bare(one))):
        if _operation(probability) not in PROBABILITIES:
            continue
        steps = [logarithm]
        while _operation(steps[-1]) in ("Clamp", "Log", "Add") and len(steps) < FAR:  # log(p + 1e-8)
            steps.append(_bare(_first(steps[-1])))
        inner, source = steps[-1], _bare(_first(probability))
        if inner is probability and len(steps) > 1:  # log(softmax(x))
            return True
        normalised = _operation(inner) == "LogSoftmax" or "Logsumexp" in [_operation(_bare(e)) for e in _inputs(inner)]
        if normalised and source in (inner, _bare(_first(inner))):  # exp(log p); softmax(x) beside log_softmax(x)
            return True
    return False


def _near(roots: list[Any]) -> list[Any]:
    seen: list[Any] = []
    waiting = list(roots)
    while waiting and len(seen) < NEARBY:
        node = waiting.pop(0)
        if node not in seen:
            seen.append(node)
            waiting += _inputs(node)
    return seen


def _constant(node: Any, every: list[Any]) -> float | None:
    value = kept_as(node, "other" if every[0] is not None else "self")
    plain = isinstance(value, Tensor) and value.numel() == 1 and value.is_cpu
    return float(value.detach().reshape(()).tolist()) if plain else None


def _bare(node: Any) -> Any:
    for _ in range(FAR):
        if _operation(node) not in SHAPING:
            break
        node = _first(node)
    return node


def _first(node: Any) -> Any:
    return next(iter(_inputs(node)), None)


def _operation(node: Any) -> str:
    return "" if node is None else str(node.name()).rpartition("::")[2].partition("Backward")[0]


def _inputs(node: Any) -> list[Any]:
    return [] if node is None else [each for each, _ in node.next_functions if each is not None]
