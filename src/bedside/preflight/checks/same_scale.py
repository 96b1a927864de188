"""Training and validation inputs are of one scale.

## What it sees
A mean or a spread of the validation inputs that is far from that of the training inputs.

## Why it matters
A scaler that was forgotten on one side, or fitted on each side by itself, turns validation into another task. The
network is fine and its validation loss says that it is not.

## How it decides
The first batches of both: the means are more than `shift` spreads apart, or one spread is more than `factor` times the
other, also if exact zeros (masks) are left out. Batches that differ as much among themselves are not held against it.

## When it is wrong
Training inputs that are strongly augmented or masked; validation on other data on purpose.

## What to try
1. Print `x.mean(), x.std()` of a batch of each, right before the model.
2. Fit the scaler on the training part only, and use that one for both.

## Example
>>> from bedside.preflight.example_setup import examined, examples, loader
>>> x, y = examples(seed=3)
>>> print(examined(same_scale, val_loader=loader(4.9 + 6 * x, y)))
PRE205 same-scale: Validation inputs (batch[0]) have mean 4.85 and spread 6.01, training inputs mean 0.0623 and \
spread 1.03.

## References
- Sculley et al. (2015), Hidden technical debt in machine learning systems: training-serving skew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import VALIDATION, Setup
from bedside.wording import listed, number


@dataclass(frozen=True)
class Limits:
    shift: float = 1.0  # training spreads: the healthy programs stay below a third of one
    factor: float = 2.5  # of the spread: healthy programs, masked and noisy training inputs included, below 1.6
    size: int = 256  # numbers that tell a mean and a spread


@check("PRE205", severity=Severity.WARNING, limits=Limits(), needs=[VALIDATION])
def same_scale(setup: Setup, limits: Limits) -> Passed | Finding:
    train, validation = _by_place(setup, setup.batches), _by_place(setup, setup.val_batches)
    seen: dict[str, list[float]] = {}
    for at in train.keys() & validation.keys():
        own, others = torch.cat(train[at]), torch.cat(validation[at])
        if min(own.numel(), others.numel()) < limits.size:
            continue
        mean, spread = float(own.mean()), float(own.std(correction=0))
        theirs, their_spread = float(others.mean()), float(others.std(correction=0))
        means = [float(each.mean()) for each in train[at]]
        seen[at] = [mean, spread, theirs, their_spread]
        if spread <= 0 or max(means) - min(means) > spread:
            continue
        # Where one part is masked, its zeros say nothing about the scale of the rest.
        if _differ(own, others, limits) and _differ(own[own != 0], others[others != 0], limits):
            return same_scale.finding(
                f"Validation inputs ({at}) have mean {number(theirs)} and spread {number(their_spread)}, training "
                f"inputs mean {number(mean)} and spread {number(spread)}.",
                where=[at],
                confidence=0.85,
                evidence={"mean": mean, "spread": spread, "val_mean": theirs, "val_spread": their_spread},
                could_also_be=("Training inputs that are augmented or masked that strongly.", "Other data on purpose."),
                try_=("Fit the scaler on the training part, and use that one for both.",),
            )
    if not seen:
        raise NotEnough(f"floating-point inputs, {limits.size} numbers of each part")
    said = listed(
        f"{at}: {number(m)} ± {number(s)} and {number(vm)} ± {number(vs)}" for at, (m, s, vm, vs) in seen.items()
    )
    return same_scale.passed(said, **seen)


def _differ(own: Tensor, others: Tensor, limits: Limits) -> bool:
    if not own.numel() or not others.numel():
        return bool(own.numel() != others.numel())
    mean, theirs = float(own.mean()), float(others.mean())
    spread, their_spread = float(own.std(correction=0)), float(others.std(correction=0))
    apart = abs(theirs - mean) > limits.shift * max(spread, their_spread / limits.factor)
    return apart or not spread <= limits.factor * their_spread <= limits.factor**2 * spread


def _by_place(setup: Setup, batches: Sequence[Any]) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = {}
    for batch in batches:
        for at, tensor in setup.floating_inputs(batch):
            values = tensor.detach().double().flatten().cpu()
            found.setdefault(at, []).append(values[torch.isfinite(values)])
    return {at: each for at, each in found.items() if all(values.numel() for values in each)}
