"""The loss sends a gradient to every trainable parameter.

## What it sees
Parameters that the loss does not depend on, and weights whose gradient is exactly zero, batch after batch.

## Why it matters
They never learn. A branch that is not called, an output that is detached, a layer behind dead units: the rest of the
network trains, so the loss falls, and nobody looks.

## How it decides
The gradients of the first batches, with a small step between them, so that branches that begin at zero (LoRA, gates)
have opened. Reported are parameters that the optimizer holds and that never had a gradient, and matrices of weights
that only ever had zeros. Without an optimizer, all trainable parameters are meant.

## When it is wrong
Parts that other batches use: experts, tasks, languages, a critic that has its own loss.

## What to try
1. Look for `.detach()`, `torch.no_grad()`, `.data`, `.item()` and numpy on the way from the layer to the loss.
2. Freeze what is not meant to learn: `requires_grad_(False)`.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import a_model, examined
>>> class Detached(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)
...     def forward(self, x):
...         return self.head(self.body(x).detach())
>>> print(examined(gradients_everywhere, Detached))
PRE301 gradients-everywhere: The loss does not depend on 2 of 4 trainable parameters: body.weight, body.bias.

## References
- PyTorch documentation, Autograd mechanics.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, Setup
from bedside.wording import count, listed, plural


@dataclass(frozen=True)
class Limits:
    batches: int = 6  # looked at: an expert of eight is chosen by one of them at least
    matrix: int = 2  # dimensions of what should not be zero: a bias may cancel out behind a normalisation


@check("PRE301", severity=Severity.WARNING, limits=Limits(), needs=[GRADIENT])
def gradients_everywhere(setup: Setup, limits: Limits) -> Passed | Finding:
    held = {id(each) for o in setup.optimizers for group in o.param_groups for each in group["params"]}
    named = {name: each for name, each in setup.trainable.items() if not held or id(each) in held}
    unused, zero = set(named), set(named)
    setup.training.train_mode()
    optimizer = setup.adam()
    for number in range(limits.batches):
        optimizer.zero_grad()
        loss = setup.training.batch_loss(setup.batch(number))
        if not loss.requires_grad or not torch.isfinite(loss):
            break
        loss.backward()
        unused -= {name for name in unused if named[name].grad is not None}
        zero -= {name for name in zero if (grad := named[name].grad) is not None and bool(grad.any())}
        optimizer.step()
        if not zero:
            break
    silent = [name for name in named if name in zero - unused and named[name].ndim >= limits.matrix]
    if unused:
        names = [name for name in named if name in unused]
        return gradients_everywhere.finding(
            f"The loss does not depend on {len(names)} of {plural(len(named), 'trainable parameter')}: "
            f"{listed(names)}.",
            where=names,
            confidence=0.9,
            evidence={"numbers_in_them": sum(named[name].numel() for name in names)},
            could_also_be=("Parts that other batches, tasks or losses use.",),
            try_=(
                "Look for .detach(), torch.no_grad() or a layer that forward does not call.",
                "requires_grad_(False) for what is not meant to learn.",
            ),
        )
    if silent:
        return gradients_everywhere.finding(
            f"The gradient of {listed(silent)} is exactly zero in the first {limits.batches} batches.",
            where=silent,
            confidence=0.8,
            evidence={"numbers_in_them": sum(named[name].numel() for name in silent)},
            could_also_be=("Parts that other batches use, such as an expert that is never chosen.",),
            try_=("Look for units that are dead from the start: bedside.lab.dead_units(model, loader).",),
        )
    return gradients_everywhere.passed(
        f"all {plural(len(named), 'trainable parameter')}, {count(sum(p.numel() for p in named.values()))} numbers"
    )
