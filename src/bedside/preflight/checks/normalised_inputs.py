"""Inputs reach the first layer with a mean near 0 and a spread near 1.

## What it sees
Numbers of the wrong size at the first layer that has weights: pixels from 0 to 255, a column in thousands beside
others near one, or values so small that only the bias is left.

## Why it matters
The loss is steep along large inputs and flat along small ones, so that no learning rate suits both. Training works, but
slowly, or not at all.

## How it decides
What arrives at the first layers with weights, so that a model that scales its input itself is measured behind that, and
one whose first layer is a normalisation is left in peace. The root mean square of it should lie between `small` and
`large`. Whole-number inputs (tokens, categories) are not looked at.

## When it is wrong
A first layer whose initialisation was made for such inputs.

## What to try
1. (x - mean) / std per feature or channel, with the numbers of the training part for both parts.
2. A BatchNorm or LayerNorm in front.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examples, examined
>>> x, y = examples()
>>> print(examined(normalised_inputs, x=128 + 70 * x))
PRE202 normalised-inputs: `0` is given inputs of mean 136 and spread 70, not 0 and 1.

## References
- LeCun et al. (1998), Efficient backprop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from bedside.collect.model.parameter_layout import plain_name
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import LOSS, Setup
from bedside.wording import listed, number

NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.LocalResponseNorm)


@dataclass(frozen=True)
class Limits:
    large: float = 10.0  # ten units of a standardised feature; pixels of 0 to 255 come to about 130
    small: float = 1e-3  # of a standardised feature; below it the first layer's bias is all there is
    apart: float = 100.0  # times between columns: named in the advice


@check("PRE202", severity=Severity.WARNING, limits=Limits(), needs=[LOSS])
def normalised_inputs(setup: Setup, limits: Limits) -> Passed | Finding:
    arriving = _arriving(setup)
    if not arriving:
        raise NotEnough("floating-point inputs that reach a layer with weights")
    for name, given in arriving.items():
        mean, spread = float(given.mean()), float(given.std(correction=0))
        size = math.hypot(mean, spread)
        if size > 0 and not limits.small <= size <= limits.large:
            columns = _columns(given, limits)
            return normalised_inputs.finding(
                f"`{name}` is given inputs of mean {number(mean)} and spread {number(spread)}, not 0 and 1.",
                where=[name],
                confidence=0.8,
                evidence={"mean": mean, "spread": spread, "columns": columns},
                could_also_be=("A first layer that was initialised for such inputs.",),
                try_=(
                    f"Standardise each feature by itself: column {listed(map(str, columns))} is of another size."
                    if columns
                    else f"Normalise: (x - {number(mean)}) / {number(spread or 1.0)}, per feature or channel.",
                ),
            )
    numbers = {name: [float(each.mean()), float(each.std(correction=0))] for name, each in arriving.items()}
    said = listed((f"`{name}` mean {number(m)} spread {number(s)}" for name, (m, s) in numbers.items()), most=3)
    return normalised_inputs.passed(said, **numbers)


def _arriving(setup: Setup) -> dict[str, Tensor]:
    """The data as it comes to each layer with weights, before any weight has touched it."""
    found: dict[str, Tensor] = {}
    normed: list[Tensor] = []

    def hook(name: str) -> Any:
        def look(module: nn.Module, args: tuple[Any, ...]) -> None:
            given = next((each for each in args if isinstance(each, Tensor) and each.is_floating_point()), None)
            if given is None or given.requires_grad or not given.numel():
                return
            if isinstance(module, NORMS):
                normed.append(given)
            elif name not in found and not any(given is each for each in normed):
                found[name] = given.detach().double()

        return look

    setup.training.train_mode()
    hooks = []
    try:
        for name, module in setup.model.named_modules():
            weights = [each for each in module.parameters(recurse=False) if each.is_floating_point()]
            for each in weights:
                each.requires_grad_(True)  # so that what a frozen layer made is known from what the loader gave
            if weights or isinstance(module, NORMS):
                hooks.append(module.register_forward_pre_hook(hook(plain_name(name) or "the model")))
        setup.loss.output(setup.batch())
    finally:
        for each in hooks:
            each.remove()
    return {name: each for name, each in found.items() if torch.isfinite(each).all()}


def _columns(given: Tensor, limits: Limits) -> list[int]:
    """Features that are of another size than the rest."""
    if given.ndim < 2:
        return []
    dim = 1 if given.ndim in (4, 5) else given.ndim - 1
    size = given.movedim(dim, 0).flatten(1).square().mean(1).sqrt()
    usual = float(size.median())
    return [int(each) for each in torch.nonzero(size > limits.apart * usual).flatten()[:6]] if usual > 0 else []
