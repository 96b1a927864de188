"""Different inputs get different answers.

## What it sees
A model that answers the same for every sample of a batch.

## Why it matters
The input does not get through: dead units, a mask that covers everything, a mean over the wrong dimension, inputs that
are all the same. The best such a model can do is the average answer.

## How it decides
After `steps` small steps, so that a last layer that begins at zero has left it, the answers of one batch in evaluation
mode must differ by more than `same` of their size.

## When it is wrong
Models whose output is not a function of the sample: a table of embeddings, a learned constant.

## What to try
1. Print the spread over the batch behind each layer: the first one at zero is where it gets lost.
2. Look at the inputs themselves: a transform that returns the same for all.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
>>> _ = nn.init.constant_(model[0].bias, -1e3)
>>> print(examined(outputs_differ, model))
PRE403 outputs-differ: All 16 samples of the first batch get the same answer.

## References
- Karpathy (2019), A recipe for training neural networks: input-independent baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.rows import fingerprints
from bedside.preflight.setup import GRADIENT, Setup
from bedside.training.batches import named_tensors
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    same: float = 1e-6  # of the answers' size: what rounding makes of equal ones
    steps: int = 5  # before it is tried: a last layer may begin at zero


@check("PRE403", severity=Severity.ERROR, limits=Limits(), needs=[GRADIENT])
def outputs_differ(setup: Setup, limits: Limits) -> Passed | Finding:
    marks = fingerprints(setup, setup.batches[0])
    if len(set(marks)) < 2:
        raise NotEnough("a batch of different inputs")
    rows = setup.rows
    setup.warm_up(limits.steps)
    setup.model.eval()
    with torch.no_grad():
        output = setup.loss.output(setup.batch())
    answers = [
        each for _, each in named_tensors(output) if each.is_floating_point() and each.ndim and len(each) == rows
    ]
    if not answers:
        raise NotEnough("outputs with a row for each sample")
    first = answers[0].reshape(rows, -1).double()
    size = float(first.abs().max())
    spread = float((first.amax(0) - first.amin(0)).max())
    if spread > limits.same * size:
        return outputs_differ.passed(f"answers differ by up to {number(spread)}", spread=spread, size=size)
    dead = size == 0
    return outputs_differ.finding(
        f"All {rows} samples of the first batch get the same answer{': zero' if dead else ''}.",
        confidence=0.9,
        evidence={"spread": spread, "size": size},
        could_also_be=("An output that is not a function of the sample.",),
        try_=("bedside.lab.dead_units(model, loader); print the spread over the batch behind each layer.",),
    )
