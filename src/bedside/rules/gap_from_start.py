"""Validation is far worse than training from the first evaluation on.

## What it sees
A validation loss several times the training loss, at the first evaluation as at the last.

## Why it matters
Overfitting takes time; a gap that is there at once is something else: evaluation with dropout or batch statistics
switched the wrong way, another preprocessing, or validation data of another kind.

## How it decides
Over the first `first` evaluations and over the last, the validation loss is at least `ratio` times the training loss at
the same steps, both positive, and at least `blind` of the level that training began at, before anything was learned. In
between the training loss fell by `learned` or more, and the validation loss by less than `share` of that: losses that
are merely on different scales (summed, weighted, of another kind) fall together. If the same network was evaluated on
training data as well (`eval_train/loss`), that is compared instead. When a run has ended with a training loss below
`gone` of its start, a validation loss that began at `blind` of it and has come to rest above `half` is one, too: what
was evaluated is not what was trained, or lags far behind it.

Where labels were counted on both sides, it is certain earlier: classes with `unseen` of the held-out labels occur
nowhere among the training labels, of which so many were counted that each of those classes would be expected
`expected` times. Batches must come mixed (`mixed`), so that what was counted stands for the rest.

## When it is wrong
Labels that nothing can be learned about: a network may know them by heart, but only those of the training data.

## What to try
1. Evaluate the training data with the evaluation code: if that is bad too, it is the code; if not, it is the data.
2. Check `model.eval()`, and that both sets go through the same preprocessing.

## Example
>>> from bedside.testing import a_run
>>> train = [2.0 - 0.005 * k for k in range(200)]
>>> print(*gap_from_start.check(a_run(loss=train, val_loss=[8.1, 7.8, 8.0, 7.6, 7.9, 7.8, 8.1, 7.7])))
GEN103 gap-from-start: val/loss is 4.44 times the training loss at the first evaluations, and 7.17 times at the last.

## References
- Ioffe and Szegedy (2015), Batch normalization: training and inference differ by design.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import most_wrong
from bedside.analysis.chance_levels import known_chance
from bedside.analysis.label_counts import evaluation_labels, training_labels
from bedside.analysis.losses import training_loss, validation_losses
from bedside.analysis.simple_models import LATE, Beside, by_accuracy, of_training, on_held_out, on_training
from bedside.analysis.statistics import Outline, how_sure, outline
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.record.vocabulary import BATCH_LABEL_SPREAD
from bedside.rules.base import rule
from bedside.wording import listed, number, percent


@dataclass(frozen=True)
class Limits:
    first: int = 3  # evaluations at either end
    ratio: float = 2.0  # twice: regularisation and augmentation make the training loss the higher one, not the lower
    learned: float = 0.3  # of the training loss at the first evaluations: something that validation should have noticed
    share: float = 0.33  # of the training loss's fall: on another scale it would be all of it
    blind: float = 0.9  # of the level at which training began: nothing of what was learned arrives
    half: float = 0.5  # of it, at the end of the run: less than half of what was learned arrives
    ignorant: float = 0.75  # of a blind guess, at the end of the run: an average that lags so far has not caught up
    unseen: float = 0.05  # of the held-out labels: no accuracy can be better than what is left
    expected: float = 20.0  # training labels of a class, if it were as frequent there: none by chance once in 1e8
    mixed: float = 0.5  # of the spread of random batches, as for lopsided-labels
    gone: float = 0.05  # of it, of the training loss: everything there is was learned
    worth: float = 0.5  # of a blind guess's error, of the linear model
    fits: float = 0.9  # of what the linear model wins, on training examples: nothing is wrong with the training
    rest: float = 0.5  # of it, on held-out ones: overfitting takes some of what a line knows, and never half of it
    answers: int = 100  # on either side: a share is known to 0.05 then
    rests: float = 0.1  # of its fall, in the last quarter of the run: an average that catches up falls to the end


# Where evaluations were watched, evaluating-in-train-mode and inputs-differ say it where it is so.
_CHECK_THE_EVALUATION = "Check that model.eval() is called, and that both sets get the same preprocessing."


@rule("GEN103", severity=Severity.WARNING, needs=[], limits=Limits())
def gap_from_start(run: Run, limits: Limits) -> Iterator[Finding]:
    if (finding := _unseen_classes(run, limits) or _not_what_was_trained(run, limits)) is not None:
        yield finding
        return
    training = (run.series("eval_train/loss") or training_loss(run)).finite()
    losses = [each.finite() for each in validation_losses(run)]
    validation = next((each for each in losses if len(each) >= 2 * limits.first), None)
    if not training or validation is None:
        raise NotEnough(f"loss and {2 * limits.first} evaluations")
    if training.values.min() <= 0 or validation.values.min() <= 0:
        return
    curve = outline(training)
    beside = np.interp(validation.steps, curve.steps, curve.values)
    ratios = validation.values / beside
    then, now = float(np.median(ratios[: limits.first])), float(np.median(ratios[-limits.first :]))
    ends = [float(np.median(validation.values[part])) for part in (slice(limits.first), slice(-limits.first, None))]
    learned, followed = _fell(beside, limits), _fell(validation.values, limits)
    if min(then, now) < limits.ratio or learned < limits.learned or followed > limits.share * learned:
        return
    if min(ends) < limits.blind * curve.start and not _hardly_arrives(run, validation, curve, ends, limits):
        return
    yield gap_from_start.finding(
        f"{validation.key} is {number(then)} times the training loss at the first evaluations, and {number(now)} times "
        "at the last.",
        first_step=validation.first_step,
        last_step=validation.last_step,
        confidence=0.7 * how_sure(min(then, now), limits.ratio / 2),
        evidence={"first_ratio": then, "last_ratio": now, "training_fell": learned, "validation_fell": followed},
        series=[training.key, validation.key],
        could_also_be=[
            "too few training examples, known by heart at once: compare the accuracy on both sets.",
            "validation data of another kind: hold out part of the training data and evaluate that.",
        ],
        try_=[
            "Run the evaluation code on the training data: if that is bad too, it is the code.",
            "" if run.events_of("evaluation_input") else _CHECK_THE_EVALUATION,
        ],
    )


def _unseen_classes(run: Run, limits: Limits) -> Finding | None:
    """Classes that are asked for in evaluation and occur nowhere in training."""
    trained, asked = training_labels(run), evaluation_labels(run)
    if trained is None or asked is None or len(trained) != len(asked):
        return None
    spread = run.series(BATCH_LABEL_SPREAD.name).finite().values
    there = int((trained > 0).sum())
    if there < 2 or not len(spread):
        return None
    if float(spread.mean()) < limits.mixed * math.log(there) / math.log(len(trained)):
        return None
    shares = asked / asked.sum()
    unseen = np.flatnonzero((trained == 0) & (shares * trained.sum() >= limits.expected))
    missed = float(shares[unseen].sum())
    if missed < limits.unseen:
        return None
    which = f"class {unseen[0]}" if len(unseen) == 1 else f"the classes {listed([str(each) for each in unseen[:10]])}"
    return gap_from_start.finding(
        f"{percent(missed)} of the held-out labels are of {which}, and none of the {int(trained.sum()):,} training "
        "labels that were counted is.",
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.95,
        evidence={"unseen": missed, "classes": len(unseen), "training_labels": float(trained.sum())},
        series=["val/loss", "val/accuracy"],
        could_also_be=["classes that are held out on purpose, to see what is made of the unknown."],
        try_=[
            "Shuffle before you split, or split each class for itself (stratify=labels).",
            "Print the counts of every class in both parts, as the loaders give them, and their numbering.",
        ],
    )


def _not_what_was_trained(run: Run, limits: Limits) -> Finding | None:
    """A network that fits its training examples, and held-out ones far worse than a straight line."""
    fitted, carried = of_training(run, only="linear"), on_held_out(run, carried=True, only="linear")
    held_out = carried or by_accuracy(run, only="linear")
    if fitted is None or held_out is None or min(fitted.examples, held_out.examples) < limits.answers:
        return None
    own = _wrong_in_training(run, fitted, limits)
    if own is None or min(fitted.worth, held_out.worth) < limits.worth or held_out.share > limits.rest:
        return None
    if fitted.guess - own < limits.fits * (fitted.guess - fitted.simple):
        return None
    where = "held-out examples" if carried is not None else "training examples that it was not fitted to"
    return gap_from_start.finding(
        f"The network is {fitted.words(own)} on the examples that it trains on, and "
        f"{held_out.words(held_out.network)} at its best evaluation; a linear model, fitted to a few hundred training "
        f"examples, is {held_out.words(held_out.simple)} on {where}.",
        first_step=0,
        last_step=max(run.steps - 1, 0),
        confidence=0.9 if carried is not None else 0.75,
        evidence={"training": own, "held_out": held_out.network, "linear": held_out.simple},
        series=[training_loss(run).key, "held_out_error"],
        could_also_be=["held-out examples of another kind: hold out part of the training data and evaluate that."],
        try_=[
            "Run the evaluation code on the training data: if that is bad too, it is the code.",
            "" if run.events_of("evaluation_input") else _CHECK_THE_EVALUATION,
        ],
    )


def _wrong_in_training(run: Run, fitted: Beside, limits: Limits) -> float | None:
    """How wrong the network is on training examples late in the run; of classes its loss says how wrong at most."""
    late = on_training(run, LATE)
    if late is not None and late.answers >= limits.answers:
        return late.network
    losses = training_loss(run).finite()
    if not fitted.counted or len(losses) < limits.answers:
        return None
    return most_wrong(float(np.median(losses.since(int(LATE * run.steps)).values)))


def _hardly_arrives(run: Run, validation: Series, curve: Outline, ends: list[float], limits: Limits) -> bool:
    """Whether validation came to rest half-way, of a run that has ended and learned all of its training data."""
    if not run.finished or curve.now > limits.gone * curve.start:
        return False
    chance = known_chance(run.config)
    if chance is not None and limits.ignorant * chance.level <= ends[1] <= curve.start:
        return True
    late = validation.values[-max(2, len(validation) // 4) :]
    fell, fell_late = float(validation.values[0] - validation.values[-1]), float(late[0] - late[-1])
    return (
        ends[0] >= limits.blind * curve.start
        and ends[1] >= limits.half * curve.start
        and (fell_late <= limits.rests * fell)
    )


def _fell(values: Values, limits: Limits) -> float:
    """By how much of its level the curve fell between the first evaluations and the last."""
    return 1 - float(np.median(values[-limits.first :])) / float(np.median(values[: limits.first]))
