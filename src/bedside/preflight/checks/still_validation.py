"""Validation examples are the same each time they are read: no augmentation is at work there.

## What it sees
The same validation examples, read twice, that come out differently.

## Why it matters
Random crops and noise belong to training. On validation they make the metric jump from epoch to epoch, and lower it.

## How it decides
A few examples of the validation data set are fetched twice by number and compared bit for bit; a loader without numbers
is read twice from its start. Whole-number inputs that differ (randomly masked tokens, as in masked language models) are
a note.

## When it is wrong
Noise that is part of the task (denoising), and test-time augmentation on purpose.

## What to try
1. A transform of its own for the validation data set: resize, crop in the centre, normalise.
2. With `random_split` both parts share one transform: make two data sets and split by position.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> class Noisy(torch.utils.data.Dataset):
...     def __len__(self): return 32
...     def __getitem__(self, i): return torch.randn(8), i % 3
>>> print(examined(still_validation, val_loader=torch.utils.data.DataLoader(Noisy(), 16)))
PRE206 still-validation: batch[0] of the same validation examples differs when they are read again.

## References
- PyTorch documentation, torchvision transforms: random transforms draw anew at every call.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.rows import fingerprints, item_batches, map_style
from bedside.preflight.setup import VALIDATION, Setup
from bedside.training.batches import named_tensors
from bedside.training.loader import readable
from bedside.wording import plural


@dataclass(frozen=True)
class Limits:
    examples: int = 16  # fetched twice
    batches: int = 4  # read twice, where examples have no number


@check("PRE206", severity=Severity.WARNING, limits=Limits(), needs=[VALIDATION])
def still_validation(setup: Setup, limits: Limits) -> Passed | Finding:
    looked, pairs = 0, _by_number(setup, limits) or _by_reading(setup, limits)
    for one, other in pairs:
        for at, floating in _differing(setup, one, other):
            return still_validation.finding(
                f"{at} of the same validation examples differs when they are read again.",
                severity=None if floating else Severity.NOTE,
                where=[at],
                confidence=0.85 if floating else 0.6,
                could_also_be=("Noise that is part of the task, such as masks or denoising.",),
                try_=("Give the validation data set a transform of its own, without random parts.",),
            )
        looked += len(fingerprints(setup, one))
    if not looked:
        raise NotEnough("validation batches with tensors")
    return still_validation.passed(f"{plural(looked, 'validation example')} read twice, the same each time")


def _by_number(setup: Setup, limits: Limits) -> list[tuple[Any, Any]]:
    loader = map_style(setup.val_loader)
    if loader is None or loader.batch_sampler is None or not len(loader.dataset):
        return []
    size = len(loader.dataset)
    numbers = sorted({int(place * size / limits.examples) for place in range(limits.examples)})
    one, other = item_batches(loader, numbers)
    return [(one, other)]


def _by_reading(setup: Setup, limits: Limits) -> list[tuple[Any, Any]]:
    loader = setup.val_loader
    assert loader is not None, "the check needs it"
    one, other = (list(itertools.islice(iter(readable(loader)), limits.batches)) for _ in range(2))
    first, again = ({mark for batch in each for mark in fingerprints(setup, batch)} for each in (one, other))
    if len(first & again) * 2 > len(first):  # the same examples in another order
        return [(batch, batch) for batch in one]
    return list(zip(one, other, strict=False))


def _differing(setup: Setup, one: Any, other: Any) -> Iterator[tuple[str, bool]]:
    inputs = {at for at, _ in setup.inputs(one)}
    again = dict(named_tensors(other))
    for at, tensor in named_tensors(one):
        twin = again.get(at)
        if at in inputs and isinstance(twin, Tensor) and not _same(tensor, twin):
            yield at, tensor.is_floating_point()


def _same(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(torch.equal(*(each.nan_to_num() if each.is_floating_point() else each for each in (one, other))))
