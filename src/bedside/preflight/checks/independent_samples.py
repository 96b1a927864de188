"""One sample's answer does not depend on the other samples of its batch.

## What it sees
Answers that change when other samples of the batch are exchanged.

## Why it matters
A softmax over the batch, a `view` that mixes rows, attention that takes the batch for the sequence: the model trains,
and answers differently depending on who sits beside. In production, alone in its batch, a sample gets another answer.

## How it decides
The first batch goes through the model twice in evaluation mode, the second time with its last quarter replaced by
copies of the first samples. No other answer may change by more than `rounding` of the largest one. BatchNorm is the
allowed exception: in evaluation mode it does not look at the batch. Models that are given one graph, or whose outputs
have no row for each sample or are drawn at random, are not examined.

## When it is wrong
Models that are meant to compare the samples of a batch with each other.

## What to try
1. Look for `view`, `reshape` and `transpose` that touch the first dimension, and for `dim=0` in a softmax or a mean.
2. `batch_first=True` for `nn.MultiheadAttention`, `nn.TransformerEncoderLayer` and recurrent layers.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> print(examined(independent_samples, nn.Sequential(nn.Linear(8, 3), nn.Softmax(dim=0))))
PRE402 independent-samples: 8 of 8 samples are answered differently when 8 others of their batch are exchanged.

## References
- Karpathy (2019), A recipe for training neural networks: use backprop to chart dependencies.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _NormBase

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import LOSS, Setup
from bedside.training.batches import named_tensors, same_batch, take_rows
from bedside.training.random_state import save_random_state
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    fewest: int = 4  # samples in the batch
    rounding: float = 1e-4  # of the largest answer: sums in another order change less than a thousandth of this
    changed: float = 0.1  # of the samples that stayed: an expert that is full turns away a few of them
    steps: int = 3  # before it is tried: branches that begin at zero pass nothing on at first


@check("PRE402", severity=Severity.ERROR, limits=Limits(), needs=[LOSS])
def independent_samples(setup: Setup, limits: Limits) -> Passed | Finding:
    rows = setup.rows
    if rows < limits.fewest:
        raise NotEnough(f"a batch of {limits.fewest} samples or more")
    if len(setup.batches) > 1 and all(same_batch(setup.batches[0], each) for each in setup.batches[1:]):
        raise NotEnough("batches that differ (one graph, whose nodes may know each other)")
    if any(isinstance(m, _NormBase) and not m.track_running_stats for m in setup.model.modules()):
        raise NotEnough("normalisation with running statistics (here it looks at the batch by design)")
    setup.warm_up(limits.steps)
    setup.model.eval()
    end = max(1, rows // 4)  # at both ends, since a recurrence over the samples has a direction
    exchanged = [*range(end, 2 * end), *range(end, rows - end), *range(end, 2 * end)]
    before, after = _answers(setup, range(rows), rows), _answers(setup, exchanged, rows)
    torch.rand(1), random.random(), np.random.random()  # other numbers from here on
    again = _answers(setup, range(rows), rows)
    if before is not None and again is not None and not torch.allclose(before, again, rtol=1e-3):
        raise NotEnough("answers that draw no random numbers (mixup, sampling)")
    if before is None or after is None or before.shape != after.shape:
        raise NotEnough("outputs with a row for each sample, and no other dimension of that length")
    fresh, kept = 2 * end, rows - 2 * end
    one, other = (each[end : rows - end].reshape(kept, -1).double() for each in (before, after))
    scale = float(one.abs().max().clamp(min=1e-12))
    changes = (one - other).abs().amax(1)
    changed = int((changes > limits.rounding * scale).sum())
    numbers = {"samples": rows, "exchanged": fresh, "changed": changed, "largest_change": float(changes.max()) / scale}
    if changed <= limits.changed * kept:
        return independent_samples.passed(
            f"{kept - changed} of {kept} answers stay when {fresh} other samples are exchanged", **numbers
        )
    return independent_samples.finding(
        f"{changed} of {kept} samples are answered differently when {fresh} others of their batch are exchanged.",
        confidence=0.9,
        evidence=numbers,
        could_also_be=(
            f"A model that compares the samples of a batch on purpose (change {number(float(changes.max()))}).",
        ),
        try_=("Look for dim=0 in a softmax or mean, for view and transpose over the batch, and for batch_first=True.",),
    )


def _answers(setup: Setup, rows: Any, total: int) -> Tensor | None:
    """The first output with a row for each sample, with the same random numbers each time."""
    same_numbers = save_random_state()
    with torch.no_grad():
        output = setup.loss.output(setup.placed(take_rows(setup.batches[0], list(rows))))
    same_numbers()
    return next((each for each in rows_of(output, total)), None)


def rows_of(output: Any, rows: int) -> list[Tensor]:
    every = [each for _, each in named_tensors(output) if each.is_floating_point() and each.ndim]
    return [each for each in every if each.shape[0] == rows and rows not in each.shape[1:]]
