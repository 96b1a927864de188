"""Nearly all labels of the recent batches are of one class.

## What it sees
The share of the most frequent class among the labels of about the last ten batches; and class weights that are the
larger the more frequent their class is.

## Why it matters
If the data set as a whole is mixed, it comes sorted by class: the model learns to answer the class of the moment,
forgets it at the next, and the loss swings with the order of the data. If the data set itself is lopsided, answering
the commonest class all the time scores well and nothing else is learnt.

## How it decides
The usual share is above `share`. The entropy of all labels seen shows whether the whole is mixed: then sorted data is
meant, a warning. Single batches show classes that come a batch or a few at a time: their labels are less than `half` as
mixed as those of the whole, where random batches of eight or more come close to it. With `nearly_all` of the labels in
one class the labels are probably broken, a warning too, as it is when held-out accuracy is that of a guess (within
`better`) over three evaluations, or over two while the training loss is below `learned` of a blind guess: then nothing
but the commonest class is known. So it is when recall, F1 or precision were 0 at every evaluation. Otherwise it is a
note, for rare events are rare, and most pixels are background. Class weights (`weight=`, `pos_weight=`) that follow the
frequencies as counts do, in proportion, are upside down, however lopsided the labels are.

Where evaluations count theirs, both parts are compared. A held-out part of one class only, which mixed training labels
would yield less than once in `by_chance` times, is a split of sorted data, and tells nothing about telling classes
apart. Training labels of which `most` are of one class, beside held-out labels of which less than `half` as many are,
are not what the network will be asked for.

## When it is wrong
A stream that is meant to come class by class, as in continual learning.

## What to try
1. Sorted data: `DataLoader(…, shuffle=True)`.
2. Lopsided data: `weight=` in the loss, or a `WeightedRandomSampler`; judge by F1 or area under the curve.
3. Weights from counts: `counts.sum() / (classes * counts)`, and `pos_weight = negatives / positives`.

## Example
>>> from bedside.testing import a_run
>>> print(*lopsided_labels.check(a_run(loss=1.0, label_share_max=0.98, config={"classes": 10, "label_entropy": 2.2})))
DAT105 lopsided-labels: In the usual stretch of batches 98 % of the labels are of one class: the data come sorted.

## References
- He and Garcia (2009), Learning from imbalanced data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.class_weights import WeightsThatFollow, weights_that_follow
from bedside.analysis.label_counts import evaluation_labels, training_labels
from bedside.analysis.losses import training_loss
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import BATCH_LABEL_SPREAD, LABEL_SHARE_MAX
from bedside.rules.base import rule
from bedside.wording import number, percent

FOUND = ("recall", "f1", "f1_score", "precision", "sensitivity", "tpr")  # metrics of the rare class


@dataclass(frozen=True)
class Limits:
    share: float = 0.9  # of recent labels: ten to one is where learners begin to answer the commonest class only
    nearly_all: float = 0.9999  # one label in ten thousand: as good as constant
    mixed: float = 0.5  # of the largest possible entropy: a data set that is not lopsided as a whole
    half: float = 0.5  # of the whole's entropy, per batch: random batches of eight have nine tenths of it
    better: float = 0.1  # of what there is to know: an accuracy above chance by less is that of guessing
    learned: float = 0.5  # of ln K: the commonest class is known, so held-out answers are no longer an untrained net's
    by_chance: float = 1e-8  # draws of the held-out part: no shuffled split ever comes out like that
    most: float = 0.8  # of the training labels: the long-tailed sets that are trained on by right have half of it
    counted: int = 50  # held-out labels, to compare shares with
    fewest: int = 10  # readings: fewer than the recent distribution itself covers


@rule("DAT105", severity=Severity.WARNING, needs=[LABEL_SHARE_MAX], limits=Limits())
def lopsided_labels(run: Run, limits: Limits) -> Iterator[Finding]:
    shares = run.series(LABEL_SHARE_MAX.name).finite()
    if upside_down := weights_that_follow(run):
        yield _upside_down(run, upside_down)
        return
    if len(shares) < limits.fewest:
        return
    if (finding := _beside_held_out(run, limits)) is not None:
        yield finding
        return
    usual = shares.median()
    classes, entropy = run.config.get("classes", 0), run.config.get("label_entropy", 0.0)
    is_sorted = classes > 1 and entropy > limits.mixed * math.log(classes)
    batches = run.series(BATCH_LABEL_SPREAD.name).finite().values
    alike = len(batches) >= limits.fewest and float(batches.mean()) < limits.half * entropy / math.log(max(classes, 2))
    if usual <= limits.share and not (is_sorted and alike):
        return
    broken, guess = usual > limits.nearly_all, 1 / max(classes, 2)
    held_out = run.series("val/accuracy").finite().tail(limits.fewest)
    needed = 2 if training_loss(run).finite().median(limits.fewest) < limits.learned * -math.log(guess) else 3
    guessing = len(held_out) >= needed and float(held_out.values.max()) < guess + limits.better * (1 - guess)
    unfound = _nothing_found(run, needed)
    why = (
        ": the data come sorted"
        if is_sorted
        else ": the labels hardly say anything"
        if broken
        else f", and held-out accuracy is {percent(held_out.last)}: no other class was learned"
        if guessing
        else f", and {unfound} is still 0: the rare class is never found"
        if unfound
        else ""
    )
    where = (
        f"In the usual stretch of batches {percent(usual)} of the labels are of one class"
        if usual > limits.share
        else "Each batch has labels of one or a few classes, and all classes together are mixed"
    )
    yield lopsided_labels.finding(
        f"{where}{why}.",
        severity=None if is_sorted or broken or guessing or unfound else Severity.NOTE,
        first_step=shares.first_step,
        last_step=shares.last_step,
        confidence=0.9 if is_sorted else 0.75,
        evidence={"usual_share": usual, "classes": classes, "entropy_of_all_labels": entropy},
        series=[LABEL_SHARE_MAX.name, BATCH_LABEL_SPREAD.name],
        could_also_be=("A rare event that is rare: then weigh it.",) if not is_sorted else (),
        try_=(
            "Shuffle: DataLoader(…, shuffle=True).",
            "If the data set is lopsided as a whole: weight= in the loss, or a WeightedRandomSampler.",
        )[0 if is_sorted else 1 :],
    )


def _upside_down(run: Run, found: WeightsThatFollow) -> Finding:
    weights, shares = [number(weight, 2) for weight in found.weights], [percent(share) for share in found.shares]
    return lopsided_labels.finding(
        f"Class weights are upside down: class {found.common}, {shares[0]} of the labels, has the weight {weights[0]}, "
        f"and class {found.rare}, {shares[1]} of them, {weights[1]}. The commonest class counts even more than it did.",
        first_step=0,
        last_step=max(run.steps - 1, 0),
        confidence=0.9,
        evidence={"weights": list(found.weights), "shares": list(found.shares)},
        series=[LABEL_SHARE_MAX.name],
        could_also_be=("Errors on the common class that cost more, in just this proportion.",),
        try_=("Divide by the counts: weight = counts.sum() / (classes * counts); pos_weight = negatives / positives.",),
    )


def _beside_held_out(run: Run, limits: Limits) -> Finding | None:
    """Labels of one class on one side only: of training, or of evaluation."""
    trained, asked = training_labels(run), evaluation_labels(run)
    if trained is None or asked is None or len(trained) != len(asked):
        return None
    share, number_asked = trained / trained.sum(), int(asked.sum())
    only, common = int(asked.argmax()), int(trained.argmax())
    of_common = float(asked[common]) / number_asked
    if asked[only] == number_asked and share[only] ** number_asked < limits.by_chance:
        said = (
            f"All {number_asked:,} held-out labels are of class {only}, and {percent(1 - float(share[only]))} of the "
            "training labels are of others: the score says nothing about telling classes apart."
        )
    elif number_asked >= limits.counted and share[common] > limits.most and of_common < limits.half * share[common]:
        said = (
            f"{percent(float(share[common]))} of the training labels are of class {common}, and {percent(of_common)} "
            "of the held-out labels are: the other classes are hardly trained."
        )
    else:
        return None
    return lopsided_labels.finding(
        said,
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.9,
        evidence={"held_out": number_asked, "trained_share": float(share[common]), "held_out_share": of_common},
        series=["val/accuracy", "val/loss"],
        could_also_be=("A part that is made up differently on purpose.",),
        try_=("Shuffle before you split, or split each class for itself (stratify=labels).",),
    )


def _nothing_found(run: Run, needed: int) -> str:
    """The metric, if one that counts found examples of the rare class was 0 at every evaluation."""
    for name in FOUND:
        held_out = run.series(f"val/{name}").finite()
        if len(held_out) >= needed and float(held_out.values.max()) == 0.0:
            return held_out.key
    return ""
