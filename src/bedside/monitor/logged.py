"""What the user logs: which vital a name is, and which number a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from bedside.errors import BadOption

VALIDATION_PREFIXES = ("val/", "val_", "valid_", "validation_", "eval_", "test_", "eval/", "test/", "valid/")


def of_validation(names: Iterable[str]) -> bool:
    """Whether one of them says so; then all that are logged together are."""
    return any(name.startswith(VALIDATION_PREFIXES) for name in names)


def vital(name: str, validating: bool) -> str:
    for prefix in VALIDATION_PREFIXES:
        if name.startswith(prefix):
            return "val/" + name[len(prefix) :]
    return f"val/{name}" if validating else name


def number(name: str, value: Any) -> float:
    try:
        return float(value.detach() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError, RuntimeError):
        raise BadOption(
            f"{name}={value!r} is not a number.",
            expected="one number per metric: a float, an int or a tensor with one element",
            try_=f"monitor.log({name}=float(...))",
        ) from None
