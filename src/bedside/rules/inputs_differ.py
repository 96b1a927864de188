"""Validation examples are not prepared as training examples are.

## What it sees
The mean or the spread of the batches that are evaluated is far from that of the batches that are trained on. Or what a
simple model learns from the one does not hold for the other.

## Why it matters
A scaler that was forgotten on one side, or fitted on each side separately, turns validation into another task; so do
channels or labels in another order. The network is fine, and its validation loss says that it is not; or the other way
round in use. Where what is done to training inputs takes the answer out of them (an overflow, an augmentation that goes
too far), validation shows what could have been learned.

## How it decides
Each of the first evaluations, `passes` at least, has a mean that is more than `shift` training spreads away from that
of training, or a spread that is more than `factor` times larger or smaller. Only evaluations that a validation metric
was logged for count. Or the first batches of both are alike, and those of training have become `factor` times larger or
smaller since, while validation's have not.

Or by a linear model and a look-up of the nearest neighbours, which are fitted to a few hundred examples of either set
and tried on others of it. In both sets they win `worth` of a blind guess's error, and what was fitted to training
examples wins less than `holds` of that on validation examples, as does the network at its best: each set is easy by
itself, and they are not the same task. Or on training examples they are wrong `harder` times as often as on validation
examples, and so is the network at its best evaluation: `worse` times as often, and by `apart` of a blind guess's error.

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

from bedside.analysis.simple_models import Beside, of_training, on_held_out
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
    worth: float = 0.3  # of a blind guess's error, as for underfitting: there is something to be found
    holds: float = 0.5  # of what is won within validation: a drift or another mixture of classes leaves more
    harder: float = 2.0  # times the errors within validation: noise and masks on purpose do that as well, but
    worse: float = 1.7  # times these errors, of the network: then what it learned from them is better than a look-up
    apart: float = 0.1  # of a blind guess's error, as for underfitting
    tried: int = 150  # examples of either set: a share of wrong answers is known to 0.03 then


@rule("DAT110", severity=Severity.WARNING, needs=[], limits=Limits())
def inputs_differ(run: Run, limits: Limits) -> Iterator[Finding]:
    found = _not_one_task(run, limits)
    try:
        scales = list(_scales(run, limits))
    except NotEnough:
        if found is None and on_held_out(run, carried=True) is None:
            raise
        scales = []
    yield from scales
    if found is not None and not scales:
        yield found


def _not_one_task(run: Run, limits: Limits) -> Finding | None:
    """What simple models make of examples of the one set, of the other, and of the one when fitted to the other."""
    training, within, across = of_training(run), on_held_out(run, carried=False), on_held_out(run, carried=True)
    if training is None or within is None or across is None or within.worth < limits.worth:
        return None
    if min(training.examples, within.examples) < limits.tried or within.apart < limits.apart:
        return None
    own = f"{within.name}, fitted to some validation examples, is {within.words(within.simple)} on others of them"
    best = f"the network is {within.words(within.network)} at its best evaluation"
    lost = across.share_of(within) < limits.holds and within.share < limits.holds
    if training.worth >= limits.worth and lost:
        said = (
            f"What holds for training examples does not hold for validation: {training.name}, fitted to some of them, "
            f"is {training.words(training.simple)} on others, and {across.words(across.simple)} on validation "
            f"examples, while {own}; {best}."
        )
        sure, try_ = (
            0.9,
            (
                "Give both sets the same preprocessing, order of channels and numbering of labels: print the same "
                "example as it comes out of both."
            ),
        )
    elif within.counted and _much_harder(training, within, limits):
        said = (
            f"Training examples are much harder than validation examples: {training.name} is "
            f"{training.words(training.simple)} on them, and {own}; {best}."
        )
        sure, try_ = (
            0.75,
            (
                "Look at ten training inputs just as the network gets them, beside ten of validation: an overflow, or "
                "an augmentation that goes too far, takes the answer out of them."
            ),
        )
    else:
        return None
    return inputs_differ.finding(
        said,
        first_step=0,
        last_step=max(run.steps - 1, 0),
        confidence=sure,
        evidence={"training": training.simple, "validation": within.simple, "across": across.simple}
        | {"network": within.network, "guess": within.guess},
        series=["held_out_error", "val/loss"],
        could_also_be=("Other data on purpose.", "Too few training examples to tell."),
        try_=(try_, "Evaluate on a part of the training data as its own loader gives it: that must go well."),
    )


def _much_harder(training: Beside, within: Beside, limits: Limits) -> bool:
    """Whether simple models find little in training examples of what they find in validation examples, and the network
    no more."""
    harder = training.simple - within.simple > limits.apart * within.guess
    harder = harder and training.simple > limits.harder * within.simple
    return harder and within.network > limits.worse * within.simple


def _scales(run: Run, limits: Limits) -> Iterator[Finding]:
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
