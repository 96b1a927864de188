"""Thirty-two examples can be learned nearly perfectly.

## What it sees
Thirty-two examples of the first batches, trained on alone without dropout and weight decay, whose loss does not come
near its floor.

## Why it matters
It is the classical test before a long run: a model that cannot fit 32 examples has a bug, and no amount of data or
time will help. It asks for more than memorising one small batch does.

## How it decides
As memorises-one-batch, with `rows` examples and `steps` steps at up to three learning rates: more than `left` of the
way to the floor remaining is a failure, more than `nearly` a note.

## When it is wrong
Inputs that are equal and have different targets; a model that is small on purpose.

## What to try
1. What `lab.overfit_batch` says in full: rate, graph, loss, dead units or capacity.
2. More capacity, if this task is meant to be memorised at all.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> class Blind(nn.Linear):
...     def forward(self, x):
...         return super().forward(x.mean(0, keepdim=True).expand_as(x))
>>> print(examined(overfits_32_examples, lambda: Blind(8, 3), depth="full"))
PRE107 overfits-32-examples: 32 examples were not memorised: the loss went from 1.13 to 0.974, and 1.89e-4 was \
possible.

## References
- Goodfellow, Bengio and Courville (2016), Deep learning, section 11.5: fit a tiny data set.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.memorising import joined, memorise
from bedside.preflight.setup import GRADIENT, Setup


@dataclass(frozen=True)
class Limits:
    rows: int = 32  # published guidance: 32 examples
    steps: int = 400  # at each learning rate
    left: float = 0.5  # of the way to the floor: as for one batch
    nearly: float = 0.1  # of the way: a healthy model has less than a twentieth left
    seconds: float = 300.0  # that each learning rate may take


@check("PRE107", severity=Severity.ERROR, limits=Limits(), needs=[GRADIENT], depth="full")
def overfits_32_examples(setup: Setup, limits: Limits) -> Passed | Finding:
    batch = joined(setup.batches, limits.rows)
    found = memorise(setup, batch, limits.rows, limits.steps, limits.seconds)
    if found.left <= limits.nearly:
        return overfits_32_examples.passed(str(found), **found.numbers)
    return overfits_32_examples.finding(
        found.complaint,
        severity=None if found.left > limits.left else Severity.NOTE,
        confidence=0.8,
        evidence=found.numbers,
        try_=(found.reason,),
    )
