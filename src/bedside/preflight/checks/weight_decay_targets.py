"""Weight decay falls on weights, not on the scales of normalisation layers and on biases.

## What it sees
Groups of the optimizer with a weight decay above zero that hold biases or the parameters of normalisation layers.

## Why it matters
Decay pulls towards zero. That makes sense for matrices; a normalisation's scale has no reason to be near zero, and a
bias gains nothing from it. Most published recipes leave both out. It is rarely decisive, hence a note.

## How it decides
Parameters of one dimension in a group with decay.

## When it is wrong
Recipes that decay everything and were tuned that way.

## What to try
1. Two groups: `[p for p in model.parameters() if p.ndim >= 2]` with decay, the others with `weight_decay=0.0`.

## Example
>>> from bedside.preflight.example_setup import examined
>>> print(examined(weight_decay_targets))
PRE304 weight-decay-targets: A weight decay of 0.01 falls on 2 biases or scales: 0.bias, 2.bias.

## References
- He et al. (2019), Bag of tricks for image classification with convolutional neural networks: no bias decay.
"""

from __future__ import annotations

from dataclasses import dataclass

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import OPTIMIZER, Setup
from bedside.wording import listed, number


@dataclass(frozen=True)
class Limits:
    dimensions: int = 2  # of what decay is meant for: matrices and convolutions


@check("PRE304", severity=Severity.NOTE, limits=Limits(), needs=[OPTIMIZER])
def weight_decay_targets(setup: Setup, limits: Limits) -> Passed | Finding:
    groups = [group for optimizer in setup.optimizers for group in optimizer.param_groups]
    decayed = {
        id(each): group["weight_decay"] for group in groups if group.get("weight_decay") for each in group["params"]
    }
    named = {name: each for name, each in setup.trainable.items() if id(each) in decayed}
    small = [name for name, each in named.items() if each.ndim < limits.dimensions]
    rates = sorted({float(decayed[id(named[name])]) for name in small})
    if not small:
        said = f"on {len(named)} matrices and convolutions" if named else "no weight decay"
        return weight_decay_targets.passed(said, decayed=len(named))
    return weight_decay_targets.finding(
        f"A weight decay of {listed(map(number, rates))} falls on {len(small)} biases or scales: {listed(small)}.",
        where=small,
        confidence=0.9,
        evidence={"weight_decay": rates, "parameters": len(small)},
        try_=("Two groups: matrices with decay, biases and scales with weight_decay=0.0.",),
    )
