"""Validation inputs are of another scale than training inputs.

## What it sees
The mean or the spread of the batches that are evaluated is far from that of the batches that are trained on.

## Why it matters
A scaler that was forgotten on one side, or fitted on each side separately, turns validation into another task. The
network is fine, and its validation loss says that it is not; or the other way round in use.

## How it decides
Each of the first evaluations, `passes` at least, has a mean that is more than `shift` training spreads away from that
of training, or a spread that is more than `factor` times larger or smaller. Only evaluations that a validation metric
was logged for count. Or the first batches of both are alike, and those of training have become `factor` times larger or
smaller since, while validation's have not.

## When it is wrong
Training data that is strongly augmented or masked; validation on other data on purpose.

## What to try
1. Print `x.mean(), x.std()` of a training and of a validation batch, right before the model.
2. Fit the scaler on the training part only, and use that one for both.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"mean": 4.9, "std": 6.0, "max": 16.0, "nonfinite": False, "size": 4096}
>>> looks = [Event(step, "evaluation_input", seen) for step in (20, 40, 60)]
>>> print(*inputs_differ.check(a_run(loss=1.0, input_mean=0.0, input_std=1.0, events=looks)))
DAT110 inputs-differ: Validation inputs have mean 4.9 and spread 6, training inputs mean 0 and spread 1.

## References
- Sculley et al. (2015), Hidden technical debt in machine learning systems: training-serving skew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Run
from bedside.record.vocabulary import INPUT_MEAN, INPUT_RMS, INPUT_STD
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    shift: float = 1.0  # training spreads: the healthy programs stay below a third of one
    factor: float = 2.5  # of the spread: healthy programs, masked and noisy training inputs included, below 1.6
    passes: int = 2  # evaluations, all of which must differ
    size: int = 256  # numbers in a batch that tell its mean and spread
    readings: int = 5  # of the training inputs
    alike: float = 1.6  # times: healthy programs, as above
    late: int = 3  # readings at the end, all of which must be that far from the first ones


@rule("DAT110", severity=Severity.WARNING, needs=[INPUT_MEAN, INPUT_STD], limits=Limits())
def inputs_differ(run: Run, limits: Limits) -> Iterator[Finding]:
    means, spreads = run.series(INPUT_MEAN.name).finite(), run.series(INPUT_STD.name).finite()
    looks = [e for e in run.events_of("evaluation_input") if e.data["size"] >= limits.size and not e.data["nonfinite"]]
    if len(looks) < limits.passes:
        raise NotEnough(f"{limits.passes} evaluations with a logged validation metric, has {len(looks)}")
    if len(means) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of the training inputs, has {len(means)}")
    if drifted := list(_drifted(run, looks, limits)):
        yield from drifted
        return
    mean, spread = float(np.median(means.values)), float(np.median(spreads.values))
    # Batches that differ among themselves (a curriculum, one class after another) have no one scale.
    wander = float(np.ptp(np.percentile(means.values, [5, 95])))
    if spread <= 0 or wander > spread:
        return
    apart = [abs(look.data["mean"] - mean) / max(spread, look.data["std"] / limits.factor) for look in looks]
    ratios = [look.data["std"] / spread for look in looks]
    shifted = min(apart) > limits.shift
    scaled = min(ratios) > limits.factor or max(ratios) < 1 / limits.factor
    if not shifted and not scaled:
        return
    theirs, their_spread = (float(np.median([look.data[key] for look in looks])) for key in ("mean", "std"))
    yield inputs_differ.finding(
        f"Validation inputs have mean {number(theirs)} and spread {number(their_spread)}, training inputs mean "
        f"{number(mean)} and spread {number(spread)}.",
        first_step=looks[0].step,
        last_step=max(looks[-1].step, run.steps - 1),
        confidence=0.9 if scaled else 0.8,
        evidence={"mean": mean, "spread": spread, "validation_mean": theirs, "validation_spread": their_spread},
        series=[INPUT_MEAN.name, INPUT_STD.name, "val/loss"],
        could_also_be=("Training inputs that are augmented or masked that strongly.", "Other data on purpose."),
        try_=(
            "Give both the same preprocessing: fit the scaler on the training part, and use that one for both.",
            "Evaluate on a part of the training data as its own loader gives it: its loss must be the training loss.",
        ),
    )


def _drifted(run: Run, looks: Sequence[Event], limits: Limits) -> Iterator[Finding]:
    """Training inputs that were those of validation at first, and have grown or shrunk since."""
    sizes = run.series(INPUT_RMS.name).finite()
    if len(sizes) < 2 * limits.readings:
        return
    theirs = [math.hypot(look.data["mean"], look.data["std"]) for look in looks]
    first, now = sizes.head(limits.readings).median(), sizes.median(limits.late)
    if not min(first, *theirs) > 0:
        return
    late = np.maximum(sizes.values[-limits.late :], 1e-30)
    apart = [float(np.exp(np.abs(np.log(late / level))).min()) for level in (first, theirs[-1])]
    alike = max(first / theirs[0], theirs[0] / first) < limits.alike
    stays = max(theirs) < limits.alike * min(theirs)
    if not (alike and stays and min(apart) > limits.factor):
        return
    away = sizes.values > limits.factor * first if now > first else sizes.values < first / limits.factor
    yield inputs_differ.finding(
        f"Training inputs were {number(first)} large (root mean square) at first and are {number(now)} now; those of "
        f"validation are still {number(theirs[-1])}.",
        first_step=int(sizes.steps[int(np.argmax(away))]),
        last_step=sizes.last_step,
        confidence=0.85,
        evidence={"first": first, "now": now, "validation": theirs[-1]},
        series=[INPUT_RMS.name, "val/loss"],
        could_also_be=("Augmentation that grows on purpose.",),
        try_=(
            "Look for an operation in place (`+=`, `-=`, `/=`, `mul_`) on what the data set returns: it changes the "
            "data themselves, a little more in every epoch.",
            "Print the root mean square of the first sample of the training data after each epoch.",
        ),
    )
