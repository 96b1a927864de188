"""The training loader shuffles, and its batches look like the whole.

## What it sees
Batches that hold few classes each, or targets that drift from batch to batch, as sorted data do; one batch that comes
again and again; a loader that reads its data set from front to back.

## Why it matters
A network that sees all of class 0, then all of class 1, learns the last class it saw. The loss looks good throughout.

## How it decides
The targets of the first batches against all of them together. Sorted batches are a failure, and so is a batch that
repeats though the data set has more; a loader that merely does not shuffle is a note.

## When it is wrong
Data whose order matters: a stream, one long text, a curriculum.

## What to try
1. `DataLoader(dataset, batch_size, shuffle=True)`.

## Example
>>> from bedside.preflight.example_setup import examined, examples
>>> x, y = examples(384)
>>> order = y.argsort()
>>> print(examined(shuffled_training, x=x[order], y=y[order], shuffle=False))
PRE501 shuffled-training: The first 8 batches hold few classes each, as if the data were sorted: shuffle the loader.

## References
- Bengio (2012), Practical recommendations for gradient-based training: shuffle examples.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch.utils.data import DataLoader

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.lab.representative import unrepresentative
from bedside.preflight.check import Passed, check
from bedside.preflight.loading import is_random, is_sequential, last_batch_size
from bedside.preflight.setup import Setup


@dataclass(frozen=True)
class Limits:
    fewest: int = 2  # batches


@check("PRE501", severity=Severity.WARNING, limits=Limits())
def shuffled_training(setup: Setup, limits: Limits) -> Passed | Finding:
    loader = setup.train_loader
    batches = setup.training.batches.first(max(limits.fewest, len(setup.batches)))
    if len(batches) < limits.fewest:
        raise NotEnough("more than one batch in a pass")
    if odd := unrepresentative(setup.loss, batches):
        if odd.startswith("every"):  # one batch again and again may be the whole data set, on purpose
            more = isinstance(loader, DataLoader) and (last_batch_size(loader) or 0) < len(loader.sampler)
            return _finding("Every batch is the same one.", None if more else Severity.NOTE)
        return _finding(f"The first {len(batches)} {odd}.", None)
    if is_sequential(loader):
        return _finding("The training loader reads its data set from front to back, in every epoch.", Severity.NOTE)
    how = "a random sampler" if is_random(loader) else type(loader).__name__
    return shuffled_training.passed(f"{how}; {len(batches)} batches alike", batches=len(batches))


def _finding(message: str, severity: Severity | None) -> Finding:
    return shuffled_training.finding(
        message,
        severity=severity,
        confidence=0.85,
        could_also_be=("Data whose order matters: a stream, one long text, a curriculum.",),
        try_=("DataLoader(dataset, batch_size, shuffle=True).",),
    )
