"""Which torch functions a piece of code calls, with what: the loss functions, or everything random.

A torch function mode sees each call of the public functions, also from modules and early imports, and changes nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

LOSSES: dict[Callable[..., Any], str] = {
    getattr(F, name): name
    for name in (
        "cross_entropy",
        "nll_loss",
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "kl_div",
    )
}
ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div")
REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
OF_CLASSES = ("cross_entropy", "nll_loss")
DROPOUTS: dict[Callable[..., Any], str] = {
    getattr(F, name): name
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
}
RANDOM: dict[Callable[..., Any], str] = {
    getattr(torch, name): name
    for name in (
        "rand",
        "randn",
        "randint",
        "randperm",
        "rand_like",
        "randn_like",
        "bernoulli",
        "multinomial",
        "normal",
    )
}


@dataclass
class Call:
    """One call: the function's name, its arguments by name, and what it returned (None if it raised)."""

    function: str
    arguments: Mapping[str, Any]
    result: Any = None

    @property
    def prediction(self) -> Tensor:
        found: Tensor = self.arguments["input"]
        return found

    @property
    def target(self) -> Tensor:
        found: Tensor = self.arguments["target"]
        return found


class FunctionCalls(TorchFunctionMode):  # type: ignore[misc]  # torch is not followed
    """`with FunctionCalls(LOSSES) as mode: …; mode.calls`"""

    def __init__(self, functions: Mapping[Callable[..., Any], str]) -> None:
        super().__init__()
        self._functions = functions
        self.calls: list[Call] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = self._functions.get(func) if _is_hashable(func) else None
        if name is None:
            return func(*args, **kwargs)
        call = Call(name, _by_name(func, args, kwargs))
        self.calls.append(call)  # before the call, so that one that raises is known as well
        call.result = func(*args, **kwargs)
        return call.result


def _is_hashable(func: Any) -> bool:
    return getattr(func, "__hash__", None) is not None


def _by_name(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = inspect.signature(func).bind(*args, **kwargs)
    except (TypeError, ValueError):  # a builtin: its arguments have no names
        return {str(place): each for place, each in enumerate(args)} | kwargs
    bound.apply_defaults()
    return dict(bound.arguments)
