"""The model is in training mode when the training begins.

## What it sees
A model in evaluation mode that has layers for which it matters: dropout rests, BatchNorm uses and keeps its old
statistics.

## Why it matters
A loop that never calls `model.train()` trains without regularisation and with frozen normalisation. The loss falls all
the same, and validation goes its own way.

## How it decides
`model.training`, and whether any module behaves differently in the two modes. It is a note, because your loop may call
`model.train()` at the start of each epoch, as it should. Parts that are in evaluation mode inside a model that is not
are listed as well: frozen on purpose, or left over from an evaluation.

## When it is wrong
It cannot see what the loop will do.

## What to try
1. `model.train()` at the start of every epoch, after every evaluation.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> print(examined(train_mode, nn.Sequential(nn.Dropout(0.5), nn.Linear(8, 3)).eval()))
PRE401 train-mode: The model is in evaluation mode: Dropout rests unless your loop calls model.train() first.

## References
- PyTorch documentation, Module.train: affects dropout and BatchNorm among others.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.collect.model.mode_dependent import kinds, mode_dependent
from bedside.collect.model.parameter_layout import plain_name
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import Setup
from bedside.wording import listed


@dataclass(frozen=True)
class Limits:
    """A mode is one or the other: nothing to set."""


@check("PRE401", severity=Severity.NOTE, limits=Limits())
def train_mode(setup: Setup, limits: Limits) -> Passed | Finding:
    setup.rewind()  # the mode that the user left it in
    dependent = mode_dependent(setup.model)
    resting = [each for each in dependent if not each.training]
    if not dependent:
        return train_mode.passed("no layer depends on the mode", training=setup.model.training)
    if not resting:
        return train_mode.passed("the model is in training mode", training=True, layers=kinds(dependent))
    if not setup.model.training:
        rests = f"{listed(kinds(resting))} rests unless your loop calls model.train() first"
        message = f"The model is in evaluation mode: {rests}."
        return train_mode.finding(message, try_=("model.train() at the start of every epoch.",), confidence=0.8)
    names = [plain_name(name) for name, each in setup.model.named_modules() if any(each is other for other in resting)]
    return train_mode.finding(
        f"The model is in training mode, but {len(names)} of {len(dependent)} layers that depend on it are not: "
        f"{listed(names)}.",
        where=names,
        confidence=0.7,
        could_also_be=("Layers that are frozen on purpose.",),
        try_=("model.train(), unless these are frozen on purpose.",),
    )
