"""The usual sources of NaN: from the operation and its operands to the likely cause and the usual cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bedside.training.nonfinite.values import Statistics

HALF_LARGEST = 65504.0  # the largest float16
EXP_LARGEST = {"float16": 11.0, "bfloat16": 88.0, "float32": 88.0, "float64": 709.0}  # exp of more is infinite
HUGE = 1e15  # squares of this overflow float32: numbers that grew, not numbers that were meant


@dataclass(frozen=True)
class Source:
    """A likely cause, by the name of the table of sources, and what to do."""

    name: str
    cause: str
    cure: str


BAD_INPUT = Source("bad input", "the batch itself holds NaN or Inf", "check the data: lab.validate_batch(batch)")
BAD_WEIGHTS = Source(
    "exploding",
    "weights were not finite before this step: an earlier step was too large",
    "lower the learning rate tenfold or clip gradients at 1.0, and start from an earlier checkpoint",
)
IN_PLACE = Source(
    "in-place",
    "a tensor that was still needed was changed in place",
    "replace the in-place operation (x += y, x.log_()) by one that makes a new tensor (x = x + y)",
)
UNKNOWN = Source("unknown", "the operation has no finite result here", "look at its operands")


def likely_source(
    name: str, operands: Sequence[Statistics], result: Statistics, *, backward: bool = False, line: str = ""
) -> Source:
    """The row of the table that fits an operation (`aten.log`, `SqrtBackward0`) with these operands."""
    operator = name.rpartition(".")[2].lower().removesuffix("0").removesuffix("backward")
    operator_plain = operator.rstrip("_")
    low = min((each.low for each in operands if each.low == each.low), default=float("nan"))
    high = max((each.high for each in operands if each.high == each.high), default=float("nan"))
    zeros = any(each.zeros for each in operands)
    source = _by_operator(operator_plain, operands, low, high, zeros, backward)
    if source is None and any(each.dtype == "float16" for each in [*operands, result]):
        source = _HALF
    if source is None and max(abs(low), abs(high)) > HUGE:
        source = Source(
            "exploding",
            f"values have grown to {max(abs(low), abs(high)):.1e}",
            "lower the learning rate, clip gradients, or normalise before this operation",
        )
    source = source or UNKNOWN
    if operator.endswith("_") and not backward and _spelled_in_place(operator, line):
        return Source(IN_PLACE.name, f"{source.cause}, written over what was there before", IN_PLACE.cure)
    return source


def _spelled_in_place(operator: str, line: str) -> bool:
    """Whether the user's own line changes a tensor in place, rather than something inside torch."""
    signs = {"div_": "/=", "mul_": "*=", "add_": "+=", "sub_": "-=", "pow_": "**="}
    return f"{operator}(" in line or signs.get(operator, "\0") in line


_HALF = Source(
    "fp16 overflow",
    "a value beyond 65,504, the largest float16",
    "use bfloat16, or keep this operation in float32; a GradScaler and a lower learning rate help",
)


def _by_operator(
    operator: str, operands: Sequence[Statistics], low: float, high: float, zeros: bool, backward: bool
) -> Source | None:
    if "log" in operator and "softmax" not in operator and "logsumexp" not in operator and "sigmoid" not in operator:
        what = "the logarithm of a negative number" if low < 0 and not zeros else "the logarithm of zero"
        return Source("log(0)", what, "clamp before the logarithm: x.clamp(min=1e-8).log(), or use log_softmax")
    if operator in ("binary_cross_entropy", "xlogy"):
        return Source("log(0)", "the logarithm of a probability of zero", "binary_cross_entropy_with_logits instead")
    if operator in ("sqrt", "rsqrt", "norm", "linalg_vector_norm", "cdist", "pow", "std", "acos", "asin", "atan2"):
        if low < 0 and not backward:
            return Source(
                "sqrt", f"{operator} of a negative number", "clamp at zero, or look for where the sign comes from"
            )
        if zeros or low == 0:
            return Source("sqrt at 0", f"the slope of {operator} at zero is infinite", "sqrt(x + 1e-8)")
    if operator in (
        "div",
        "reciprocal",
        "mean",
        "var",
        "var_mean",
        "std",
        "true_divide",
        "batch_norm",
        "native_batch_norm",
    ):
        return Source("0/0", "a division by zero", "add an epsilon to the denominator: x / (y + 1e-8)")
    if operator in ("exp", "expm1", "softmax", "_softmax", "logsumexp", "sinh", "cosh", "softplus"):
        if backward and any(each.inf for each in operands):
            return Source(
                "large logits",
                "exp overflowed to infinity in the forward, and infinity times a gradient of zero is NaN",
                "clip or scale before the exp: what is masked or clamped after it still has a gradient",
            )
        limit = min((EXP_LARGEST.get(each.dtype, 88.0) for each in operands), default=88.0)
        if high > limit:
            return Source(
                "large logits",
                f"exp of {high:.4g}: more than {limit:.0f} overflows {operands[0].dtype}",
                "subtract the maximum first, scale or clip the logits, or use log_softmax and logsumexp",
            )
        return Source("large logits", "every entry of a row was masked or infinite", "leave one entry unmasked")
    return None
