"""The model can memorise one batch.

## What it sees
A few rows of the first batch, trained on alone, whose loss stays near where it began.

## Why it matters
A model that cannot memorise sixteen examples will not learn the data set: the graph is cut, the loss is wrong, units
are dead, or the output cannot reach the targets. It takes seconds to find out.

## How it decides
`lab.overfit_batch`: Adam at up to three rates, without dropout, and the lowest loss that free outputs of the same shape
can reach as the floor. Failed when more than `left` of the way from the first loss to the floor remains. Losses
that draw random numbers (diffusion, sampling) cannot be memorised and are not examined, nor those without a lower end.

## When it is wrong
Inputs that are equal and have different targets: nobody can tell them apart.

## What to try
1. What `lab.overfit_batch` says in full: rate, graph, loss, dead units or capacity.
2. Look for layers that are detached or frozen, and for an activation behind the last layer.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> class Deaf(nn.Linear):
...     def forward(self, x):
...         return super().forward(0 * x)
>>> print(examined(memorises_one_batch, lambda: Deaf(8, 3)))
PRE106 memorises-one-batch: 16 examples were not memorised: the loss went from 1.06 to 0.882, and 3.78e-4 \
was possible.

## References
- Karpathy (2019), A recipe for training neural networks: overfit one batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.memorising import memorise
from bedside.preflight.setup import GRADIENT, Setup


@dataclass(frozen=True)
class Limits:
    rows: int = 16  # of the first batch
    steps: int = 150  # at each learning rate: a small model is done after fifty
    left: float = 0.5  # of the way to the floor: healthy models have less than a twentieth left, broken ones nearly all
    seconds: float = 60.0  # that it may take; slower models are for depth="full"


@check("PRE106", severity=Severity.ERROR, limits=Limits(), needs=[GRADIENT])
def memorises_one_batch(setup: Setup, limits: Limits) -> Passed | Finding:
    seconds = limits.seconds * (10 if setup.depth == "full" else 1)
    found = memorise(setup, setup.batches[0], limits.rows, limits.steps, seconds)
    if found.left <= limits.left:
        return memorises_one_batch.passed(str(found), **found.numbers)
    return memorises_one_batch.finding(found.complaint, confidence=0.8, evidence=found.numbers, try_=(found.reason,))
