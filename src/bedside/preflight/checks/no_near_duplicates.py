"""Validation examples are no closer to training examples than those are to each other.

## What it sees
Many validation inputs that have a near twin in training: frames of one video, crops or noisy copies of one image, the
same sentence with another full stop.

## Why it matters
Near twins on both sides are as good as a leak: the model answers by memory, and the validation score does not say what
will happen with new data.

## How it decides
The distance from each validation example to its nearest training example, against the same distance among the training
examples. A share of `far` of validation examples closer than all but `quantile` of the training examples is a failure;
if both parts are drawn alike it would be about `quantile`. Exact copies are left to disjoint-splits. For tokens, the
distance is the number of places that differ.

## When it is wrong
A validation part that is drawn from a denser region of the data on purpose.

## What to try
1. Split by what belongs together: by patient, video, user or document, not by example.
2. Augment after splitting, never before.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined, examples, loader
>>> x, y = examples(300)
>>> near = x[:100] + 0.01 * torch.randn(100, 8, generator=torch.Generator().manual_seed(0))
>>> print(examined(no_near_duplicates, x=x, y=y, val_loader=loader(near, y[:100])))
PRE204 no-near-duplicates: 100 of 100 validation examples have a near twin among 300 training examples.

## References
- Barz and Denzler (2020), Do we train on test data? Purging CIFAR of near-duplicates.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import VALIDATION, Setup
from bedside.training.batches import rows_in
from bedside.training.loader import readable
from bedside.wording import count, percent


@dataclass(frozen=True)
class Limits:
    quantile: float = 0.01  # of the distances among training examples: what counts as near
    far: float = 0.2  # of the validation examples: twenty times what chance gives
    fewest: int = 100  # training examples, needed to distinguish near from far; a quarter as many of the others
    training: int = 2000  # examples compared at most
    validation: int = 400  # examples compared at most
    numbers: int = 512  # of each example, evenly spread


@check("PRE204", severity=Severity.WARNING, limits=Limits(), needs=[VALIDATION])
def no_near_duplicates(setup: Setup, limits: Limits) -> Passed | Finding:
    own, whole = _examples(setup, setup.train_loader, limits.training, limits)
    others, _ = _examples(setup, setup.val_loader, limits.validation, limits)
    if own is None or others is None or own.shape[1:] != others.shape[1:]:
        raise NotEnough("inputs of one size, with a row for each example")
    if len(own) < limits.fewest or len(others) < limits.fewest / 4:
        raise NotEnough(f"{limits.fewest} training examples and {limits.fewest // 4} validation examples")
    norm = 2.0 if whole else 0.0
    among = torch.cdist(own, own, p=norm).fill_diagonal_(torch.inf).amin(1)
    across = torch.cdist(others, own, p=norm).amin(1)
    near = float(torch.quantile(among, limits.quantile))
    apart = across[across > 0]  # exact copies are another check's
    twins = int((apart < near).sum())
    numbers = {"twins": twins, "compared": len(others), "near": near, "usual": float(among.median())}
    if twins <= limits.far * len(others):
        said = f"{count(len(others))} validation examples, {percent(twins / len(others))} near one of training"
        return no_near_duplicates.passed(said, **numbers)
    return no_near_duplicates.finding(
        f"{count(twins)} of {count(len(others))} validation examples have a near twin among {count(len(own))} training "
        "examples.",
        confidence=0.8,
        evidence=numbers,
        could_also_be=("A validation part from a denser region of the data.",),
        try_=("Split by what belongs together (patient, video, document), and augment after splitting.",),
    )


def _examples(setup: Setup, loader: Any, most: int, limits: Limits) -> tuple[Tensor | None, bool]:
    """The first examples as rows of numbers, and whether those are measurements rather than tokens."""
    found: list[Tensor] = []
    floating = True
    for batch in itertools.islice(readable(loader), most):
        rows = rows_in(batch)
        inputs = [each for _, each in setup.inputs(batch) if each.ndim and each.shape[0] == rows and each.numel()]
        if not inputs:
            return None, True
        floating = any(each.is_floating_point() for each in inputs)
        chosen = [each for each in inputs if each.is_floating_point() == floating]
        flat = torch.cat([each.detach().reshape(rows, -1).double().cpu() for each in chosen], 1)
        step = max(1, flat.shape[1] // limits.numbers)
        found.append(flat[:, ::step].nan_to_num())
        if found[-1].shape[1:] != found[0].shape[1:]:
            return None, True
        if sum(map(len, found)) >= most:
            break
    return (torch.cat(found)[:most] if found else None), floating
