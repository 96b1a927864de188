"""Inputs and targets hold no NaN and no infinity.

## What it sees
NaN or Inf in the tensors of the batches, training and validation.

## Why it matters
One NaN in a target makes the loss NaN, the gradients NaN and, one step later, every weight NaN.

## How it decides
Every number of one pass over each loader is looked at, for up to `seconds` seconds (ten times as long in full depth).
If the loss of such a batch is finite all the same, the model or the loss takes care of it (a mask, a missing value),
and it is a note.

## When it is wrong
A NaN in a part of the batch that nobody uses is a note, not a failure.

## What to try
1. Look at the rows named; drop or repair them in the data set.
2. Division by a standard deviation of zero is the usual source: add a small number to it.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examples, examined
>>> x, y = examples()
>>> x[5, 2] = float("nan")
>>> print(examined(finite_batches, x=x, shuffle=False))
PRE201 finite-batches: batch[0] of training batch 0 holds 1 NaN, in row 5.

## References
- PyTorch documentation, torch.isfinite.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import FETCHED, Setup
from bedside.training.batches import named_tensors, rows_in
from bedside.training.loader import readable
from bedside.training.nonfinite.values import is_finite, readable_values
from bedside.wording import count, listed


@dataclass(frozen=True)
class Limits:
    seconds: float = 5.0  # for reading each part in fast depth; the first batches are always read


@check("PRE201", severity=Severity.ERROR, limits=Limits())
def finite_batches(setup: Setup, limits: Limits) -> Passed | Finding:
    seconds = limits.seconds * (10 if setup.depth == "full" else 1)
    splits = {"training": setup.train_loader} | (
        {"validation": setup.val_loader} if setup.val_loader is not None else {}
    )
    looked: dict[str, int] = {}
    for split, loader in splits.items():
        began = time.perf_counter()
        for place, batch in enumerate(readable(loader)):
            looked[split] = place + 1
            for at, what, rows in _problems(batch):
                return _finding(setup, batch, f"{at} of {split} batch {place} holds {what}{rows}", at)
            if place + 1 >= FETCHED and time.perf_counter() - began > seconds:
                break
    said = " and ".join(f"{count(many)} {split} batch{'es' if many != 1 else ''}" for split, many in looked.items())
    return finite_batches.passed(f"{said}: every number is finite", **looked)


def _finding(setup: Setup, batch: Any, message: str, at: str) -> Finding:
    survives = _loss_is_finite(setup, batch)
    return finite_batches.finding(
        message + (", and the loss is finite all the same." if survives else "."),
        severity=Severity.NOTE if survives else None,
        confidence=0.99,
        where=[at],
        try_=("Drop or repair these rows; a division by a standard deviation of zero is the usual source.",),
    )


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
