"""No validation example is a training example as well.

## What it sees
The same inputs, bit for bit, in both loaders; or loaders that draw the same positions of one data set.

## Why it matters
What was trained on is answered well whether or not anything was learned. The validation curve then follows the training
curve, overfitting is invisible, and the real test comes in production.

## How it decides
First the positions: two Subsets, or two samplers, of one data set must not share any. Then the examples themselves,
each as a fingerprint of its inputs: more than `share` of the validation examples found in training is a failure, unless
inputs repeat as often within the training part itself (few distinct inputs, such as dice or small integers). Up to
`rows` examples of each are read, up to ten times as many in full depth.

## When it is wrong
Two examples that really are alike: blank images, the same sentence twice.

## What to try
1. Split by position once, with a fixed seed, and keep the split in a file.
2. Remove duplicates before splitting; keep what belongs together (one patient, one video) on one side.

## Example
>>> from bedside.preflight.example_setup import examples, examined, loader
>>> x, y = examples()
>>> print(examined(disjoint_splits, val_loader=loader(x[:40], y[:40])))
PRE203 disjoint-splits: 40 of 40 validation examples are training examples as well (96 training examples looked at).

## References
- Kapoor and Narayanan (2023), Leakage and the reproducibility crisis in machine-learning-based science.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.rows import all_fingerprints, indices
from bedside.preflight.setup import VALIDATION, Setup
from bedside.wording import count, percent


@dataclass(frozen=True)
class Limits:
    share: float = 0.01  # of the validation examples: public data sets have up to that many twins
    rows: int = 20_000  # examples of each part in fast depth
    seconds: float = 10.0  # for reading each part in fast depth


@check("PRE203", severity=Severity.ERROR, limits=Limits(), needs=[VALIDATION])
def disjoint_splits(setup: Setup, limits: Limits) -> Passed | Finding:
    train, validation = indices(setup.train_loader), indices(setup.val_loader)
    if train is not None and validation is not None and train[0] == validation[0]:
        shared = train[1] & validation[1]
        if shared:
            return _failed(len(shared), len(validation[1]), len(train[1]), "positions of one data set")
    times = 10 if setup.depth == "full" else 1
    own, whole = all_fingerprints(setup, setup.train_loader, limits.rows * times, limits.seconds * times)
    others, their_whole = all_fingerprints(setup, setup.val_loader, limits.rows * times, limits.seconds * times)
    if not own or not others:
        raise NotEnough("batches with a row for each example")
    counts = Counter(own)
    found = sum(each in counts for each in others)
    repeated = sum(many for many in counts.values() if many > 1) / len(own)
    share = found / len(others)
    numbers = {"training": len(own), "validation": len(others), "shared": found, "repeated_in_training": repeated}
    if share > limits.share and share > 2 * repeated + limits.share:
        return _failed(found, len(others), len(own), "fingerprints", repeated)
    partly = "" if whole and their_whole else ", the first ones of each"
    few = f", {count(found)} in both" if found else ", none in both"
    return disjoint_splits.passed(
        f"{count(len(own))} training, {count(len(others))} validation{partly}{few}", **numbers
    )


def _failed(shared: int, validation: int, training: int, by: str, repeated: float = 0.0) -> Finding:
    return disjoint_splits.finding(
        f"{count(shared)} of {count(validation)} validation examples are training examples as well "
        f"({count(training)} training examples looked at).",
        confidence=0.97,
        evidence={"training": training, "validation": validation, "shared": shared, "by": by},
        could_also_be=(
            f"Inputs that are alike by nature: {percent(repeated)} repeat in training." if repeated else "",
        ),
        try_=("Split once by position with a fixed seed, after removing duplicates: torch.utils.data.random_split.",),
    )
