"""Every trainable parameter is in exactly one group of the optimizer, and nothing else is.

## What it sees
Trainable parameters that no optimizer holds; parameters of the loss that are not even the model's (layers in a plain
Python list); tensors in the optimizer that the model no longer has; parameters that are in it twice.

## Why it matters
What the optimizer does not hold never moves. A head that was replaced after the optimizer was made stays at its random
start while the optimizer moves the old one; no error is raised.

## How it decides
By identity of the tensors. A parameter that gets no gradient from the loss either is left in peace (a teacher, an
average of weights), and so is a tensor of the optimizer that the loss depends on (a learnable loss, a second model).

## When it is wrong
Parameters that another optimizer is to train, which was not given.

## What to try
1. Make the optimizer after the model is complete, from `model.parameters()`.
2. `nn.ModuleList` instead of a list, `nn.ModuleDict` instead of a dict.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> print(examined(optimizer_covers_parameters, optimizer=lambda model: torch.optim.SGD(model[0].parameters(), lr=0.1)))
PRE302 optimizer-covers-parameters: 2 of 4 trainable parameters are in no optimizer: 2.weight, 2.bias.

## References
- PyTorch documentation, torch.optim: parameters need to be specified as collections.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from torch import nn

from bedside.collect.vitals.loss_graph import hiding_places
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import OPTIMIZER, Setup
from bedside.wording import count, listed, plural


@dataclass(frozen=True)
class Limits:
    """A tensor is held or it is not: nothing to set."""


@check("PRE302", severity=Severity.ERROR, limits=Limits(), needs=[OPTIMIZER])
def optimizer_covers_parameters(setup: Setup, limits: Limits) -> Passed | Finding:
    groups = [group["params"] for optimizer in setup.optimizers for group in optimizer.param_groups]
    held = {id(each): each for group in groups for each in group}
    own = {id(each) for each in setup.model.parameters()}
    leaves = {id(each): each for each in setup.first.leaves}
    hidden = [
        each for key, each in leaves.items() if isinstance(each, nn.Parameter) and key not in own and key not in held
    ]
    if hidden:
        places = hiding_places(setup.model, hidden) or [str(tuple(each.shape)) for each in hidden]
        return _finding(
            f"The loss depends on {plural(len(hidden), 'parameter')} that neither the model nor the optimizer knows: "
            f"{listed(places)}.",
            places,
            "Keep layers in nn.ModuleList or nn.ModuleDict, not in a plain list or dict.",
        )
    gradients = setup.first.gradients
    missing = [
        name
        for name, each in setup.trainable.items()
        if id(each) not in held and (gradients is None or gradients.get(name) is not None)
    ]
    stale = [each for key, each in held.items() if key not in own and key not in leaves and each.requires_grad]
    if missing:
        shapes = {tuple(each.shape) for each in stale}
        twins = [name for name in missing if tuple(setup.trainable[name].shape) in shapes]
        replaced = f" The optimizer holds {plural(len(stale), 'tensor')} that the model no longer has." if twins else ""
        return _finding(
            f"{len(missing)} of {plural(len(setup.trainable), 'trainable parameter')} are in no optimizer: "
            f"{listed(missing)}.{replaced}",
            missing,
            "Make the optimizer after the model is complete: torch.optim.AdamW(model.parameters(), lr=…).",
            len(stale),
        )
    twice = [key for key, many in Counter(id(each) for group in groups for each in group).items() if many > 1]
    if twice:
        names = [name for name, each in setup.trainable.items() if id(each) in twice]
        return _finding(
            f"{plural(len(twice), 'parameter')} are in the optimizer twice: {listed(names)}.",
            names,
            "Put each parameter into one group of one optimizer.",
        )
    if stale and not any(key in own for key in held):
        return _finding(
            f"None of the {plural(len(held), 'tensor')} in the optimizer is the model's: it was made for another one.",
            [],
            "Make the optimizer from this model's parameters, after moving or wrapping it.",
            len(stale),
        )
    return optimizer_covers_parameters.passed(
        f"{count(len(setup.trainable))} trainable parameters in {plural(len(groups), 'group')}",
        held=len(held),
        groups=len(groups),
        of_others=len(stale),
    )


def _finding(message: str, where: list[str], advice: str, stale: int = 0) -> Finding:
    return optimizer_covers_parameters.finding(
        message,
        where=where,
        confidence=0.95,
        evidence={"stale": stale},
        could_also_be=("Parameters that an optimizer trains which was not given here.",),
        try_=(advice,),
    )
