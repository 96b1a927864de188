"""The last batch of an epoch is not too small to be useful.

## What it sees
A last batch that is much smaller than the others.

## Why it matters
Its mean gradient is as long as the others' and rests on a few examples: a little noise at every epoch's end. With
BatchNorm and one example it is an error (see batchnorm-statistics), and averages over batches give it too much weight.

## How it decides
The number of examples and the batch size. Smaller than `share` of a batch is a note.

## When it is wrong
Losses that are summed, or weighted by the batch's size.

## What to try
1. `drop_last=True` in the training loader (not in the validation loader).

## Example
>>> from bedside.preflight.example_setup import examined, examples
>>> x, y = examples(98)
>>> print(examined(last_batch, x=x, y=y))
PRE504 last-batch: The last batch of an epoch has 2 examples, the others 16.

## References
- PyTorch documentation, DataLoader: drop_last.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.loading import batch_size, last_batch_size
from bedside.preflight.setup import Setup
from bedside.wording import plural


@dataclass(frozen=True)
class Limits:
    share: float = 0.25  # of a batch: its gradient is twice as noisy


@check("PRE504", severity=Severity.NOTE, limits=Limits())
def last_batch(setup: Setup, limits: Limits) -> Passed | Finding:
    usual, last = batch_size(setup.train_loader), last_batch_size(setup.train_loader)
    if usual is not None and getattr(setup.train_loader, "drop_last", False):
        return last_batch.passed(f"batches of {usual}, the rest is dropped", usual=usual)
    if usual is None or last is None:
        raise NotEnough("a DataLoader with a batch size and a length")
    if last >= limits.share * usual:
        return last_batch.passed(f"{plural(last, 'example')}, the others {usual}", usual=usual, last=last)
    return last_batch.finding(
        f"The last batch of an epoch has {plural(last, 'example')}, the others {usual}.",
        confidence=0.9,
        evidence={"usual": usual, "last": last},
        try_=("drop_last=True in the training loader.",),
    )
