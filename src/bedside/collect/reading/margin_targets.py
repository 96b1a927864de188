"""Zeros among the signs of a loss of margins: a hinge, a soft margin, a ranking, a cosine embedding.

These losses multiply a score by +1 or -1 and push the product up; or they take one branch for +1 and another for -1.
Labels of 0 and 1 fit neither: times zero every score is the same, and neither branch is taken, so that half of the
examples have a constant loss and teach nothing. No error is raised. The graph of the loss keeps what a score was
multiplied by, and on which examples a branch was taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from bedside.collect.reading.graph_values import SHAPING, kept_as

FEWEST = 4  # examples of either kind: one zero alone may be an example that is left out
MAX_CHAIN = 8  # operations between the bend of the loss and the product
BENDS = (
    "Clamp",
    "Relu",
    "Maximum",
    "Softplus",
    "Log1P",
    "Log",
)  # by which a margin that is large enough counts no more
SHIFTS = ("Rsub", "Sub", "Add")  # the margin, or the one of log(1 + exp(-m))
PASSED = (*SHIFTS, "Neg", "Exp", *SHAPING)


def zeros_among_signs(nodes: Sequence[Any]) -> str:
    """How such a loss was given zeros, from the nodes near its end; empty where it was not.

    >>> import torch
    >>> scores, labels = torch.zeros(8, requires_grad=True) * 1, torch.tensor([0.0, 1.0] * 4)
    >>> def hinge(y):
    ...     return zeros_among_signs([torch.clamp(1 - y * scores, min=0).grad_fn])
    >>> hinge(labels), hinge(2 * labels - 1)
    ('labels of 0 and 1', '')
    """
    for node in nodes:
        name = _operation(node)
        if name == "SoftMarginLoss" and _has_zeros(kept_as(node, "target", unknown=True)):
            return "labels of 0 and 1"
        if name.startswith(BENDS) and _has_zeros(_factor_of_score(node)):
            return "labels of 0 and 1"
        if name == "Add" and _no_choice(node):
            return "labels of 0 and 1"
    return ""


def _factor_of_score(bend: Any) -> Tensor | None:
    """The numbers that a score is multiplied by, where nothing but a constant and a sign lies between product and
    bend."""
    shifted, node = not _operation(bend).startswith(("Clamp", "Relu", "Maximum", "Log")), bend
    for _ in range(MAX_CHAIN):
        before = [each for each, _ in node.next_functions if each is not None]
        if len(before) != 1:  # two scores are compared: what is multiplied further down is no label
            return None
        node, name = before[0], _operation(before[0])
        shifted = shifted or name in SHIFTS or _operation(bend) == "Log1P"
        if name == "Mul":
            constant = _constant(node)
            if constant is not None and shifted:
                return None if _multiplied_before(node) else constant
            if constant is not None:
                return None
        elif name not in PASSED:
            return None
    return None


def _constant(product: Any) -> Tensor | None:
    """The side of a product that needs no gradient, if it is more than a single number."""
    for name, (before, _) in zip(("other", "self"), reversed(product.next_functions), strict=False):
        kept = kept_as(product, name) if before is None else None
        if isinstance(kept, Tensor) and kept.numel() > 1:
            return kept
    return None


def _multiplied_before(product: Any) -> bool:
    """Whether its other side is such a product itself: then one of the two is a mask."""
    node = next((each for each, _ in product.next_functions if each is not None), None)
    for _ in range(MAX_CHAIN):
        name = "" if node is None else _operation(node)
        if name == "Mul":
            return _constant(node) is not None
        before = [] if node is None else [each for each, _ in node.next_functions if each is not None]
        if name not in (*SHAPING, "Neg", *SHIFTS) or len(before) != 1:
            return False
        node = before[0]
    return False


def _has_zeros(labels: Any) -> bool:
    """Zeros and one other number, either often enough to be labels. On another device reading them would make the
    loop wait."""
    if not isinstance(labels, Tensor) or not labels.is_cpu or not labels.dim():
        return False
    labels = labels.detach()
    zeros, ones, minus = (int((labels == number).sum()) for number in (0, 1, -1))
    return min(zeros, max(ones, minus)) >= FEWEST and zeros + max(ones, minus) == labels.numel()


def _no_choice(total: Any) -> bool:
    """Whether of two branches, one of them a hinge, which are added up after each was taken for its own examples, one
    is taken at none or at all of them."""
    branches = [each for each, _ in total.next_functions if each is not None]
    if len(branches) != 2 or any(_operation(each) != "Where" for each in branches):
        return False
    taken, hinged = [], False
    for each in branches:
        condition = kept_as(each, "condition")
        if not isinstance(condition, Tensor) or not condition.is_cpu:
            return False
        first, second = (before for before, _ in each.next_functions)
        taken.append(condition if first is not None else ~condition)
        hinged = hinged or any(node is not None and _operation(node).startswith("Clamp") for node in (first, second))
    if not hinged or taken[0].shape != taken[1].shape:
        return False
    fewer, more = sorted(int(each.sum()) for each in taken)
    examples = taken[0].numel()
    none = fewer == 0 and FEWEST <= more <= examples - FEWEST
    return none or (more == examples and FEWEST <= fewer <= examples - FEWEST)


def _operation(node: Any) -> str:
    return str(node.name()).partition("Backward")[0]
