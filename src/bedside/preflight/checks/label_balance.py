"""How the labels are shared out among the classes, and whether one class is nearly all there is.

## What it sees
The share of the commonest class in the first batches, and classes that do not occur in them.

## Why it matters
With ten examples of one class to one of the others, answering always the same is 91 % accurate. Accuracy then says
little, and the rare class, which is usually the one that matters, is not learned.

## How it decides
Counted over the first batches. A share above `share` is a note; labels that are all the same over `fewest` examples are
a failure, unless the loader is not shuffled (see shuffled-training).

## When it is wrong
A rare event that is rare.

## What to try
1. `weight=` in the loss, or a `WeightedRandomSampler`.
2. Look at a metric that knows about it: balanced accuracy, F1, precision and recall.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> print(examined(label_balance, y=(torch.arange(96) % 24 == 0).long()))
PRE207 label-balance: 96 % of the labels are of class 0 (96 examples): answering always the same is that accurate.

## References
- He and Garcia (2009), Learning from imbalanced data.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.class_labels import labels_of
from bedside.preflight.setup import Setup
from bedside.preflight.torch_calls import OF_CLASSES
from bedside.wording import count, listed, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.9  # ten to one is where learners begin to answer the commonest class only
    fewest: int = 64  # examples that say something about shares
    shown: int = 12  # classes whose shares are listed


@check("PRE207", severity=Severity.NOTE, limits=Limits())
def label_balance(setup: Setup, limits: Limits) -> Passed | Finding:
    call = next((each for each in setup.first.calls if each.function in OF_CLASSES), None)
    if call is None or call.target.is_floating_point():
        raise NotEnough("class labels")
    labels = labels_of(setup, call)
    if len(labels) < limits.fewest:
        raise NotEnough(f"{limits.fewest} labels in the first batches")
    classes, counts = torch.unique(labels, return_counts=True)
    top = int(counts.argmax())
    share = float(counts[top]) / len(labels)
    outputs = call.prediction.shape[1 if call.prediction.ndim > 1 else 0]
    numbers = {"examples": len(labels), "largest_share": share, "seen": len(classes), "outputs": outputs}
    if share > limits.share:
        alone = len(classes) == 1
        return label_balance.finding(
            f"{percent(share)} of the labels are of class {int(classes[top])} ({count(len(labels))} examples): "
            + ("there is nothing to tell apart." if alone else "answering always the same is that accurate."),
            severity=Severity.WARNING if alone and outputs > 1 else None,
            confidence=0.8,
            evidence=numbers,
            could_also_be=("A rare event that is rare.", "Data that come sorted: see shuffled-training."),
            try_=("weight= in the loss or a WeightedRandomSampler, and a metric that knows about it.",),
        )
    if len(classes) <= limits.shown:
        shares = (f"{int(c)}: {percent(float(n) / len(labels))}" for c, n in zip(classes, counts, strict=True))
        return label_balance.passed(f"{listed(shares, most=limits.shown)}", **numbers)
    return label_balance.passed(f"{len(classes)} classes seen, the commonest {percent(share)}", **numbers)
