"""An upper bound of an operation's result, where the result was not kept but its inputs are known.

A product of two matrices of ordinary numbers is finite, whether or not somebody kept it. Only operations are listed for
which the bound is certain; a division, a logarithm or an exponential has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

# These only hand on what they were given.
_MOVES = (
    "View UnsafeView T Transpose Permute Expand Squeeze Unsqueeze Select Slice Cat Stack Clone Split SplitWithSizes "
    "Unbind Alias AsStrided Reshape ReshapeAlias"
)
MOVES = frozenset(f"{name}Backward{version}" for name in _MOVES.split() for version in (0, 1, 2))
# These make nothing that is larger than what they were given.
KEEPS = MOVES | {"NegBackward0", "AbsBackward0", "ReluBackward0", "MaxPool2DWithIndicesBackward0", "ToCopyBackward0"}
HARMLESS = KEEPS - {"ToCopyBackward0"} | {"MaskedFillBackward0", "WhereBackward0"}  # a copy may have a smaller range
SUMS = {"AddBackward0", "SubBackward0", "AddBackward1", "SubBackward1"}
PRODUCTS = {"MulBackward0": ("self", "other"), "MulBackward1": ("self", "other")}
MATRICES = {"AddmmBackward0": ("mat1", "mat2"), "MmBackward0": ("self", "mat2"), "BmmBackward0": ("self", "mat2")}
ROUNDING = 2.0  # times: sums in another order differ by less


@dataclass(frozen=True)
class Operand:
    """A tensor that an operation kept: its name there, its largest absolute value, and its shape."""

    name: str
    largest: float
    shape: tuple[int, ...]


def is_sum_in_a_wide_type(node: Any) -> bool:
    """Whether it is a sum that overflows in float16 only: elsewhere what it adds was bad before."""
    return node.name() in SUMS and _limit(node) > torch.finfo(torch.float16).max


def largest_result(node: Any, kept: Sequence[Operand], known: Callable[[Any], float | None]) -> float | None:
    """A bound of the result's absolute value that its type can hold; None if there is no such bound."""
    bound = _bound(node, {each.name: each for each in kept}, known)
    return bound if bound is not None and ROUNDING * bound < _limit(node) else None


def _bound(node: Any, kept: dict[str, Operand], known: Callable[[Any], float | None]) -> float | None:
    name = node.name()
    before = [None if each is None else known(each) for each, _ in node.next_functions]
    if name in KEEPS:
        return max(before) if before and None not in before else None  # type: ignore[type-var]
    if name in SUMS:
        scale = max(1.0, abs(float(getattr(node, "_saved_alpha", 1.0))))
        return scale * sum(before) if None not in before else None  # type: ignore[arg-type]
    if name in PRODUCTS:
        factors = [_first(b, kept, each) for b, each in zip(before, PRODUCTS[name], strict=False)]
        return math.prod(factors) if None not in factors else None  # type: ignore[arg-type]
    if name in MATRICES:
        one, other = MATRICES[name]
        added = before[0] if name == "AddmmBackward0" else 0.0
        factors = [_first(b, kept, each) for b, each in zip(before[-2:], (one, other), strict=True)]
        length = kept[one].shape[-1] if one in kept else kept[other].shape[-2] if other in kept else None
        if added is None or length is None or None in factors:
            return None
        return added + length * math.prod(factors)  # type: ignore[arg-type]
    return None


def _first(before: float | None, kept: dict[str, Operand], name: str) -> float | None:
    return before if before is not None or name not in kept else kept[name].largest


def _limit(node: Any) -> float:
    """The largest number that the result's type can hold."""
    metadata = getattr(node, "_input_metadata", None)
    dtype = metadata[0].dtype if metadata else torch.float16
    return torch.finfo(dtype).max if dtype.is_floating_point else 0.0
