"""Each epoch comes in an order of its own.

## What it sees
A random sampler that gives the same order at every pass; a distributed sampler that nobody tells the epoch.

## Why it matters
With one order for all epochs, the noise of the gradient repeats itself, and the same examples are always together. A
DistributedSampler does this by design until `set_epoch` is called: it is the most common omission of distributed loops.

## How it decides
The first batches of two passes, compared example by example. For a sampler with `set_epoch`, whether another epoch
gives another order; that your loop calls it cannot be seen here, so it is a note.

## When it is wrong
An order that is fixed on purpose, to compare runs step by step.

## What to try
1. `sampler.set_epoch(epoch)` at the start of each epoch.
2. No `torch.manual_seed` and no new generator with a fixed seed inside the epoch loop.

## Example
>>> import torch
>>> from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
>>> from bedside.preflight.example_setup import examined, examples
>>> data = TensorDataset(*examples())
>>> loader = DataLoader(data, 16, sampler=DistributedSampler(data, num_replicas=2, rank=0))
>>> print(examined(new_order_each_epoch, train_loader=loader))
PRE502 new-order-each-epoch: DistributedSampler gives the same order until set_epoch is called: call it in each epoch.

## References
- PyTorch documentation, DistributedSampler: set_epoch is necessary to make shuffling work across epochs.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.loading import epoch_sampler, first_order, is_random, same_order
from bedside.preflight.setup import Setup


@dataclass(frozen=True)
class Limits:
    batches: int = 2  # of each pass
    fewest: int = 8  # examples: a handful may come in the same order by chance


@check("PRE502", severity=Severity.WARNING, limits=Limits())
def new_order_each_epoch(setup: Setup, limits: Limits) -> Passed | Finding:
    loader = setup.train_loader
    one, other = (first_order(setup, loader, limits.batches) for _ in range(2))
    if len(one) < limits.fewest:
        raise NotEnough(f"{limits.fewest} examples in the first batches")
    same = same_order(one, other)
    sampler = epoch_sampler(loader)
    if not same:
        return new_order_each_epoch.passed("two passes, two orders", examples=len(one))
    if sampler is not None:
        sampler.set_epoch(int(getattr(sampler, "epoch", 0)) + 1)
        changes = not same_order(one, first_order(setup, loader, limits.batches))
        name = type(sampler).__name__
        message = f"{name} gives the same order until set_epoch is called: call it in each epoch."
        if not changes:
            message = f"{name} gives the same order in every epoch, also after set_epoch."
        return _finding(message, Severity.NOTE, f"{name}.set_epoch(epoch) at the start of each epoch.")
    if is_random(loader) and len(set(one)) > 1:
        message = "The loader shuffles, but two passes come in the same order: something resets its random numbers."
        return _finding(message, None, "No manual_seed and no new generator with a fixed seed in the epoch loop.")
    raise NotEnough("a loader that shuffles")


def _finding(message: str, severity: Severity | None, advice: str) -> Finding:
    return new_order_each_epoch.finding(
        message,
        severity=severity,
        confidence=0.85,
        could_also_be=("An order that is fixed on purpose.",),
        try_=(advice,),
    )
