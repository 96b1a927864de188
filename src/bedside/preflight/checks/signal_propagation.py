"""At the start, neither the signal nor its gradient vanishes or explodes on its way through the layers.

## What it sees
The size of what each layer puts out, from the first to the last, and of what each layer's weights get back as gradient.

## Why it matters
With the wrong scale of initial weights, activations shrink or grow by a factor per layer. Forty layers of 0.5 leave
nothing, and no learning rate brings it back.

## How it decides
The spread of the outputs of layers with weights on the first batch in training mode: failed if one is `explode` times
larger, or `vanish` of, the largest input's. And the gradient per weight of matrices: failed if the first ones get less
than `faint` of the last one's. The limits are wide: healthy networks without normalisation lose a factor of ten or
a hundred.

## When it is wrong
Layers whose outputs are scaled up or down later on purpose.

## What to try
1. He initialisation for ReLU, Glorot for tanh.
2. Normalisation layers, or skip connections across the quiet layers.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> layers = lambda: [each for _ in range(12) for each in (nn.Linear(8, 8), nn.Sigmoid())]
>>> print(examined(signal_propagation, lambda: nn.Sequential(*layers(), nn.Linear(8, 3))))
PRE407 signal-propagation: The weights of `0` get 4.47e-11 of the gradient that those of `24` get: it vanishes on the \
way.

## References
- Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural networks.
- He et al. (2015), Delving deep into rectifiers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bedside.collect.model.parameter_layout import plain_name
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, Setup
from bedside.training.modes import without_dropout
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    explode: float = 1e4  # times the size of the first layer's output: healthy networks stay within a hundred
    vanish: float = 1e-6  # of it: healthy networks without normalisation lose a thousand at most
    faint: float = 1e-6  # of the last layer's gradient per weight: healthy ones are above a ten-thousandth
    fewest: int = 3  # layers with weights


@check("PRE407", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT])
def signal_propagation(setup: Setup, limits: Limits) -> Passed | Finding:
    sizes, gradients = _measured(setup)
    if len(sizes) < limits.fewest:
        raise NotEnough(f"{limits.fewest} layers with weights")
    names = list(sizes)
    first = sizes[names[0]]
    numbers = {
        "first": first,
        "last": sizes[names[-1]],
        "smallest": min(sizes.values()),
        "largest": max(sizes.values()),
    }
    for name, size in sizes.items():
        if first > 0 and not limits.vanish * first <= size <= limits.explode * first and math.isfinite(size):
            how = "explodes" if size > first else "vanishes"
            return _finding(
                f"The output of `{name}` is {number(size / first)} times the size of that of `{names[0]}`: the signal "
                f"{how} on the way.",
                [names[0], name],
                numbers,
            )
    early, late = (
        next(((n, gradients[n]) for n in some if gradients.get(n, 0) > 0), None) for some in (names, names[::-1])
    )
    if early is not None and late is not None and early[1] < limits.faint * late[1]:
        return _finding(
            f"The weights of `{early[0]}` get {number(early[1] / late[1])} of the gradient that those of `{late[0]}` "
            "get: it vanishes on the way.",
            [early[0], late[0]],
            numbers | {"first_gradient": early[1], "last_gradient": late[1]},
        )
    ratio = f", gradients {number(early[1] / late[1])}" if early is not None and late is not None else ""
    span = f"{number(min(sizes.values()))} to {number(max(sizes.values()))}"
    said = f"outputs of {len(sizes)} layers {span}{ratio} first to last"
    return signal_propagation.passed(said, **numbers)


def _finding(message: str, where: list[str], numbers: dict[str, Any]) -> Finding:
    return signal_propagation.finding(
        message,
        where=where,
        confidence=0.8,
        evidence=numbers,
        could_also_be=("Outputs that are scaled up or down later on purpose.",),
        try_=("He initialisation for ReLU, Glorot for tanh; normalisation or skip connections between the layers.",),
    )


def _measured(setup: Setup) -> tuple[dict[str, float], dict[str, float]]:
    """The root mean square of each weighted layer's output, in the order of the forward, and of its gradient."""
    found: dict[str, Tensor] = {}

    def hook(name: str) -> Any:
        def look(module: nn.Module, args: Any, output: Any) -> None:
            tensor = output[0] if isinstance(output, tuple) and output else output
            if isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.numel() and name not in found:
                found[name] = tensor.detach().double().square().mean().sqrt()

        return look

    without_dropout(setup.model)
    layers = {
        plain_name(name): each
        for name, each in setup.model.named_modules()
        if any(p.ndim > 1 for p in each.parameters(recurse=False))
    }
    hooks = [each.register_forward_hook(hook(name)) for name, each in layers.items()]
    try:
        loss = setup.loss(setup.batch())
    finally:
        for each in hooks:
            each.remove()
    weights = {
        name: [p for p in layers[name].parameters(recurse=False) if p.ndim > 1 and p.requires_grad] for name in found
    }
    flat = [p for some in weights.values() for p in some]
    grads = dict(zip(map(id, flat), torch.autograd.grad(loss, flat, allow_unused=True), strict=True)) if flat else {}
    sizes = {
        name: math.sqrt(
            max((float(g.double().square().mean()) for p in some if (g := grads.get(id(p))) is not None), default=0.0)
        )
        for name, some in weights.items()
    }
    return {name: float(each) for name, each in found.items()}, sizes
