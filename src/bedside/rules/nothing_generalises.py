"""Nothing that is learned holds for other data: validation never beats a blind guess.

## What it sees
A training loss that falls below the level of a blind guess, beside a validation loss that was never below it and an
accuracy that is that of guessing, from the first evaluation to the last.

## Why it matters
Overfitting passes a best checkpoint; here there is none. The network learns single examples by heart: labels that were
shuffled apart from their inputs, held-out data prepared in another way, or inputs without anything to learn from.

## How it decides
The level of a guess is known from the settings, or inferred where an accuracy of 1/K stands beside a loss of ln K (the
best validation loss, or the first training loss). In at least `evaluations` the validation loss was never lower than
that by `steady` of it, and no accuracy was above a guess by `better` of what there is to know, while the training loss
fell below a guess by `learned` of it. Without an accuracy the classes must be known, and the training loss must have
fallen by `far`; so it must where nothing but an accuracy was held out. Of numbers, the variance of the targets is what
a guess has: training fell below it by `far`, and held-out losses never did by `other_part`; or training by `numbers`,
and a score (R²) never left what a guess has. Where no loss was logged, the accuracies speak alone: that of training won
`apart` and is as far ahead, and that of held-out data never rose above its first third.

## When it is wrong
Tasks that begin with a long plateau, on which single examples are learned first (grokking), as long as it lasts.

## What to try
1. Print a few inputs with their labels, as the network gets them, from both sets.
2. Evaluate on a part of the training data: if that is at chance too, look at how the evaluation is made.
3. Train on half of the training data and evaluate on the other half.

## Example
>>> from bedside.testing import a_run
>>> train, val = [2.3 - 0.02 * k for k in range(100)], [2.31, 2.33, 2.36, 2.4, 2.46, 2.5, 2.6, 2.7]
>>> accuracy = [0.1, 0.098, 0.104, 0.097, 0.1, 0.102, 0.1, 0.099]
>>> print(*nothing_generalises.check(a_run(loss=train, val_loss=val, val_accuracy=accuracy)))
GEN112 nothing-generalises: val/loss was never below that of a blind guess (ln 10 = 2.303), val/accuracy never above \
0.104, while the training loss fell to 0.36.

## References
- Zhang et al. (2017), Understanding deep learning requires rethinking generalization: random labels are learned by
  heart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies, guessed_classes
from bedside.analysis.chance_levels import Chance, known_chance
from bedside.analysis.losses import training_loss_to_fall, validation_losses
from bedside.analysis.statistics import how_sure, outline
from bedside.analysis.statistics.outline import running_median
from bedside.analysis.untrained_signs import blind_score
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.base import rule
from bedside.wording import number

VARIANCE_KEY = "target_variance"
TRY = (
    "Print a few inputs with their labels, as the network gets them: labels that were shuffled apart from their inputs "
    "can only be learned by heart.",
    "Evaluate on a part of the training data: if that is at chance too, look at how the evaluation is made.",
)


@dataclass(frozen=True)
class Limits:
    fewest: int = 5  # readings of the training loss
    evaluations: int = 5  # of the validation loss: as many as make a curve
    steady: float = 0.02  # of the level: the scatter of a guess, as for loss-at-chance
    better: float = 0.1  # of what there is to know: an accuracy above chance by less is that of guessing
    learned: float = 0.05  # of the level: below it a training loss is not at chance itself
    fewest_pairs: int = 9  # accuracies of either set: thirds of three
    apart: float = 0.25  # of all answers: what training won, and what it is ahead by
    far: float = 0.3  # of the level, where no accuracy bears it out
    numbers: float = 0.2  # of the variance of the targets: learned by heart, where a score says that it is no more
    other_part: float = 0.1  # of the variance: held-out targets may vary less by that much


@rule("GEN112", severity=Severity.WARNING, needs=[], limits=Limits())
def nothing_generalises(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.loss and not validation_losses(run):
        yield from _by_answers(run, limits)
        return
    training = training_loss_to_fall(run, limits.fewest)
    losses = [each.finite() for each in validation_losses(run)]
    held_out = next((each for each in losses if len(each) >= limits.evaluations), None)
    if held_out is None:
        yield from _beside_the_loss(run, training, limits)
        return
    right = [each for each in accuracies(run) if each.owner == held_out.owner and len(each) >= limits.evaluations]
    lowest = outline(held_out).best
    chance = _level(run, right, (lowest, float(training.values[0])))
    if chance is None:
        yield from _numbers(run, training, held_out, limits)
        return
    if lowest < (1 - limits.steady) * chance.level:
        return
    best = max((float(outline(each).values.max()) for each in right), default=math.nan)
    guess = 1 / chance.classes
    now = outline(training).now
    needed = limits.far if not right else limits.learned
    if best > guess + limits.better * (1 - guess) or now > (1 - needed) * chance.level:
        return
    highest = max((float(each.values.max()) for each in right), default=math.nan)
    answers = f", {right[0].key} never above {number(highest)}" if right else ""
    yield nothing_generalises.finding(
        f"{held_out.key} was never below that of a blind guess ({chance}){answers}, while the training loss fell to "
        f"{number(now)}.",
        first_step=held_out.first_step,
        last_step=held_out.last_step,
        confidence=0.9 * how_sure(chance.level / max(now, 1e-12), 0.5),
        evidence={"lowest": lowest, "chance": chance.level, "known": chance.known, "training": now},
        series=[held_out.key, training.key, *(each.key for each in right[:1])],
        could_also_be=["validation data of another kind: evaluate on a part of the training data."],
        try_=[*TRY],
    )


def _numbers(run: Run, training: Series, held_out: Series, limits: Limits) -> Iterator[Finding]:
    """Regression: a score that says so, or a training loss far below the variance of the targets that no held-out loss
    ever comes near."""
    level, scored = run.config.get(VARIANCE_KEY), blind_score(run)
    if not isinstance(level, (int, float)) or run.matching("part/"):
        return
    now, lowest = outline(training).now, outline(held_out).best
    if now > (1 - (limits.numbers if scored else limits.far)) * level or now >= lowest:
        return
    if not scored and lowest < (1 - limits.other_part) * level:
        return
    yield nothing_generalises.finding(
        f"{held_out.key} was never below {number(lowest)}, and the variance of the targets is {number(level)}"
        f"{', ' + scored if scored else ''}, while the training loss fell to {number(now)}.",
        first_step=held_out.first_step,
        last_step=held_out.last_step,
        confidence=0.9 if scored else 0.75,
        evidence={"lowest": lowest, "variance": level, "training": now},
        series=[held_out.key, training.key],
        could_also_be=["validation data of another kind: evaluate on a part of the training data."],
        try_=[*TRY],
    )


def _beside_the_loss(run: Run, training: Series, limits: Limits) -> Iterator[Finding]:
    """Only accuracies were held out, and they are those of a guess."""
    right = [each for each in accuracies(run) if len(each) >= limits.evaluations]
    if not right:
        raise NotEnough(f"{limits.evaluations} evaluations")
    chance, now = (
        _level(run, right, (float(training.values[0]), training.head(limits.fewest).median())),
        outline(training).now,
    )
    best = max(float(each.values.max()) for each in right)
    if chance is None or now > (1 - limits.far) * chance.level:
        return
    guess = 1 / chance.classes
    if best > guess + limits.better * (1 - guess):
        return
    yield nothing_generalises.finding(
        f"{right[0].key} was never above {number(best)}, where a blind guess has {number(guess)}, while the training "
        f"loss fell from {number(outline(training).start)} to {number(now)}.",
        first_step=right[0].first_step,
        last_step=right[0].last_step,
        confidence=0.9 * how_sure(chance.level / max(now, 1e-12), 0.5),
        evidence={"best": best, "guess": guess, "chance": chance.level, "known": chance.known, "training": now},
        series=[right[0].key, training.key],
        could_also_be=["validation data of another kind: evaluate on a part of the training data."],
        try_=[*TRY],
    )


def _by_answers(run: Run, limits: Limits) -> Iterator[Finding]:
    """Accuracies alone: that of training rose far, and that of held-out data never rose at all."""
    training = {each.vital.partition("/")[2]: each for each in accuracies(run, "train")}
    pairs = [(each, training[name]) for each in accuracies(run) if (name := each.vital.partition("/")[2]) in training]
    pairs = [pair for pair in pairs if min(len(each) for each in pair) >= limits.fewest_pairs]
    if not pairs:
        raise NotEnough(f"losses, or {limits.fewest_pairs} accuracies of training and of held-out data")
    for held_out, trained in pairs:
        third = len(held_out) // 3
        first, late = float(np.median(held_out.values[:third])), held_out.values[third:]
        rose = float(np.median(trained.values[-third:]) - trained.values[0])
        apart = float(np.median(trained.values[-third:]) - np.median(late))
        if float(running_median(late, 3).max()) > first + limits.steady or min(rose, apart) < limits.apart:
            continue
        yield nothing_generalises.finding(
            f"{held_out.key} has never risen above the {number(first)} of its first evaluations, while {trained.key} "
            f"went from {number(float(trained.values[0]))} to {number(trained.last)}.",
            first_step=held_out.first_step,
            last_step=held_out.last_step,
            confidence=0.8,
            evidence={"first": first, "now": float(np.median(late)), "training": trained.last},
            series=[held_out.key, trained.key],
            could_also_be=["validation data of another kind: evaluate on a part of the training data."],
            try_=[
                "Print a few inputs with their labels, as the network gets them, of both sets.",
                "Evaluate on a part of the training data: if that is no better, look at how the evaluation is made.",
            ],
        )
        return


def _level(run: Run, right: list[Series], losses: tuple[float, float]) -> Chance | None:
    """The level of a guess among classes: of the settings, or inferred from the accuracies and one of the losses."""
    known = known_chance(run.config)
    if known is not None:
        return known if known.classes >= 2 else None
    classes = next((found for loss in losses if (found := guessed_classes(right, loss))), 0)
    return Chance(math.log(classes), f"ln {classes:,}", known=False, classes=classes) if classes else None
