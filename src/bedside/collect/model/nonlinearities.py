"""The non-linearities: how they are called, whether a unit can die in them, and where they are all but flat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules import activation

FLAT = 0.01  # of the steepest slope: a gradient that passes ten such units is gone
NOWHERE = (math.nan, math.nan)  # no output is up to the one or from the other on


@dataclass(frozen=True)
class Kind:
    """One non-linearity."""

    name: str
    dies: bool = False  # zero output and zero slope for all negative inputs
    flat: tuple[float, float] = NOWHERE  # outputs up to the one and from the other on, where it saturates

    @property
    def saturates(self) -> bool:
        return any(limit == limit for limit in self.flat)

    def saturated(self, outputs: Any) -> Any:
        """Which of these, torch's or numpy's, lie where it is flat."""
        low, high = self.flat
        return (outputs <= low) | (outputs >= high)


# The slope of sigmoid is s(1-s), at most 1/4; of tanh 1-t², at most 1.
_SIGMOID = (1 - math.sqrt(1 - FLAT)) / 2
_TANH = math.sqrt(1 - FLAT)

RELU = Kind("relu", dies=True)
RELU6 = Kind("relu6", dies=True, flat=(math.nan, 6))
SIGMOID = Kind("sigmoid", flat=(_SIGMOID, 1 - _SIGMOID))
TANH = Kind("tanh", flat=(-_TANH, _TANH))
HARD_SIGMOID = Kind("hardsigmoid", flat=(0, 1))
HARD_TANH = Kind("hardtanh", flat=(-1, 1))  # with its usual limits
SOFTMAX = Kind("softmax", flat=(math.nan, 1 - FLAT))

KINDS = {
    "relu": RELU,
    "relu_": RELU,
    "relu6": RELU6,
    "sigmoid": SIGMOID,
    "sigmoid_": SIGMOID,
    "tanh": TANH,
    "tanh_": TANH,
    "hardsigmoid": HARD_SIGMOID,
    "hardtanh": HARD_TANH,
    "softmax": SOFTMAX,
}

FUNCTIONS: tuple[tuple[Any, str], ...] = tuple(
    (home, name) for home in (F, torch, Tensor) for name in KINDS if callable(getattr(home, name, None))
)
# The same as modules. What they return is what the function in them returned.
MODULES: dict[type[nn.Module], Kind] = {
    nn.ReLU: RELU,
    nn.ReLU6: RELU6,
    nn.Sigmoid: SIGMOID,
    nn.Tanh: TANH,
    nn.Hardsigmoid: HARD_SIGMOID,
    nn.Hardtanh: HARD_TANH,
    nn.Softmax: SOFTMAX,
}
DYING: tuple[tuple[Any, str], ...] = tuple(each for each in FUNCTIONS if KINDS[each[1]].dies)


def call_name(module: nn.Module | None, name: str, function: str) -> str:
    """What a call is known as: the module if it is a non-linearity itself, or the function inside the module."""
    if module is not None and type(module).__module__ == activation.__name__:
        return name
    return f"{name}.{function.rstrip('_')}" if name else function.rstrip("_")


class Numbered:
    """A shared module or function is called several times in a forward: `relu`, `relu#2`, `relu#3`, up to a point."""

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._calls: dict[str, int] = {}

    def __call__(self, name: str) -> str | None:
        count = self._calls[name] = self._calls.get(name, 0) + 1
        if count > self._most:
            return None
        return name if count == 1 else f"{name}#{count}"
