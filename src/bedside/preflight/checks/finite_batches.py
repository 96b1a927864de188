"""Inputs and targets hold no NaN and no infinity.

## What it sees
NaN or Inf in the tensors of the first batches, training and validation.

## Why it matters
One NaN in a target makes the loss NaN, the gradients NaN and, one step later, every weight NaN.

## How it decides
Every number of the first batches is looked at. If the loss of such a batch is finite all the same, the model or the
loss takes care of it (a mask, a missing value), and it is a note.

## When it is wrong
A NaN in a part of the batch that nobody uses is a note, not a failure.

## What to try
1. Look at the rows named; drop or repair them in the data set.
2. Division by a standard deviation of zero is the usual source: add a small number to it.

## Example
>>> import torch
>>> from bedside.preflight.testing import examples, examined
>>> x, y = examples()
>>> x[5, 2] = float("nan")
>>> print(examined(finite_batches, x=x, shuffle=False))
PRE201 finite-batches: batch[0] of training batch 0 holds 1 NaN, in row 5.

## References
- PyTorch documentation, torch.isfinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.finding import Finding, Severity
from bedside.preflight.base import Passed, check
from bedside.preflight.setup import Setup
from bedside.training.batches import named_tensors, rows_in
from bedside.training.nonfinite.values import is_finite, readable_values
from bedside.wording import count, listed, plural


@dataclass(frozen=True)
class Limits:
    """One is too many: nothing to set."""


@check("PRE201", severity=Severity.ERROR, limits=Limits())
def finite_batches(setup: Setup, limits: Limits) -> Passed | Finding:
    splits = {"training": setup.batches}
    if setup.val_loader is not None:
        splits["validation"] = setup.val_batches
    tensors = 0
    for split, batches in splits.items():
        for place, batch in enumerate(batches):
            tensors += sum(1 for _ in named_tensors(batch))
            for at, what, rows in _problems(batch):
                survives = _loss_is_finite(setup, batch)
                return finite_batches.finding(
                    f"{at} of {split} batch {place} holds {what}{rows}"
                    + (", and the loss is finite all the same." if survives else "."),
                    severity=Severity.NOTE if survives else None,
                    confidence=0.99,
                    where=[at],
                    evidence={"split": split, "batch": place},
                    try_=(
                        "Drop or repair these rows; a division by a standard deviation of zero is the usual source.",
                    ),
                )
    looked = " and ".join(f"{plural(len(each), f'{split} batch')}" for split, each in splits.items())
    return finite_batches.passed(f"{looked.replace('batchs', 'batches')}: every number is finite", tensors=tensors)


def _problems(batch: Any) -> Iterator[tuple[str, str, str]]:
    total = rows_in(batch)
    for at, tensor in named_tensors(batch):
        if is_finite(tensor):
            continue
        values = readable_values(tensor)
        if values is None:
            continue
        kinds = [(int(bad.sum()), name) for bad, name in ((values.isnan(), "NaN"), (values.isinf(), "Inf"))]
        said = " and ".join(f"{count(many)} {name}" for many, name in kinds if many)
        yield at, said, _rows(~torch.isfinite(values), total)


def _rows(bad: Tensor, total: int) -> str:
    if not bad.ndim or bad.shape[0] != total:
        return ""
    rows = torch.nonzero(bad.reshape(total, -1).any(1)).flatten().tolist()
    return f", in row{'s' if len(rows) > 1 else ''} {listed(map(str, rows))}"


def _loss_is_finite(setup: Setup, batch: Any) -> bool:
    try:
        with torch.no_grad():
            return math.isfinite(float(setup.loss(setup.placed(batch))))
    except Exception:  # the user's code cannot take such a batch either
        return False
    finally:
        setup.rewind()
