"""The loss sits at the level of a blind guess.

## What it sees
A loss that settled on the value that a model reaches by ignoring its input: ln K for K classes, the entropy of the
labels, the variance of the targets.

## Why it matters
The network has learned, at best, how often each answer occurs. Labels are detached from inputs, the inputs carry
nothing (all zero, wrongly normalised), the output is saturated, or the learning rate destroyed the initialisation in
its first steps.

## How it decides
Over the last third the loss is within two percent (or its noise) of the chance level computed from the run's
configuration, and it was never lower by `lower` of it. When the number of classes is not known, it is inferred where
the accuracy is that of guessing too: a loss of ln K beside an accuracy of 1/K. Without an accuracy, familiar values (ln
2, ln 10, ln 1000, the vocabularies of public tokenizers) are recognised, but only at the third digit, only if the loss
did not begin far above (`start`), and it is a note unless a metric stays near zero as well, or an area under the curve
near a half. Where evaluations are few, or the classes lopsided, the accuracy alone tells it: `evaluations` of them at
1/K beside a loss of about ln K that was never `lower`, or the very same accuracy again and again beside a held-out loss
that has stopped falling and that a network which always gives this answer has at least (where it is right more often
than not: which also knows how often). A training loss that is no better but too restless to have settled is judged by
its evaluations: `evaluations` of them, none below chance, and no accuracy above it by `better`. One that is divided by
something, and has not come down by `lower` of its own start, is no better when the run has ended. Where training does
come below chance and validation does not, that is nothing-generalises.

With the variance of the targets known, a loss that was above `far` times it for the whole run and has not `halved` is
worse than a constant answer; and so are held-out errors that were never below it by `lower` and end beside it, unless
they fell by `under_way` or fall ever faster (the last ones `speeding` times as much as those before). So is a run that
has ended `beside` that variance without ever having been below it. Of means of epochs or evaluations that hardly
scatter a `few` are enough.

## When it is wrong
A loss that happens to settle on such a number; the finding says which number it took it for.

## What to try
1. Train on 32 examples: if the loss does not go to zero, there is a bug between data and loss.
2. Print a few inputs with their labels as the network gets them.
3. Start again with a tenth of the learning rate.

## Example
>>> from bedside.testing import a_run
>>> loss = [3.1, 2.6, 2.4] + [2.30, 2.31, 2.302, 2.305, 2.298, 2.304] * 20
>>> print(*loss_at_chance.check(a_run(loss=loss, config={"num_classes": 10})))
LOS102 loss-at-chance: The loss has settled at 2.3, the level of a blind guess (ln 10 = 2.303).

## References
- Karpathy (2019), A recipe for training neural networks: verify the loss at initialisation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies, calibrated, guess_level, guessed_classes
from bedside.analysis.chance_levels import DEVIATION, VARIANCE, Chance, known_chance
from bedside.analysis.losses import called, loss_to_fall, meant_to_fall, validation_losses
from bedside.analysis.means_of_epochs import are_means, is_quiet
from bedside.analysis.schedule import warming_up
from bedside.analysis.statistics import in_blocks, outline, trend
from bedside.analysis.untrained_signs import blind_score, low_metric, one_answer, only_frequencies
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import better_learning_rate
from bedside.rules.base import rule
from bedside.rules.what_was_seen import units_at_their_ends
from bedside.wording import number

SQUARED = {"mse", "reconstruction", "recon"}  # words of metrics that are mean squared errors


@dataclass(frozen=True)
class Limits:
    fewest: int = 20  # readings, as for any verdict
    few: int = 6  # means of epochs or evaluations, if they scatter by next to nothing: see means_of_epochs
    steps: int = 100  # a few dozen steps may be a warm-up; see stuck-from-start
    lower: float = 0.05  # of the level: a model that was ever this much better has learned something
    start: float = 0.5  # of the level above it, for a recognised one: untrained heads begin a little above ln K
    steady: float = 0.02  # of the level: the spread of the last third, where its noise is less
    noise: float = 5.0  # σ of one block: the range of a dozen blocks of pure noise is below it 98 times in 100
    most_noise: float = 0.1  # of the level: more is no level to sit on
    evaluations: int = 5  # of the validation loss: as many as make a curve
    better: float = 0.1  # of what there is to know: an accuracy above chance by less is that of guessing
    far: float = 10.0  # times the variance of the targets: weights and other parts of a loss make less
    halved: float = 0.5  # of its start: a loss that is a sum over the batch is far above too, and falls
    under_way: float = 0.1  # of their first level: held-out errors that fell by more are on their way
    visible: float = 0.01  # of their level: a fall of held-out errors that one can see
    speeding: float = 2.0  # times the fall before it: one that nears a constant is the slower, the nearer it is
    beside: float = 0.3  # of the variance, or of the entropy, above it: validation targets may vary a little more


_SATURATED_AT_ONCE = (
    "first steps so large that they saturated the network: start again with a tenth of the learning rate."
)


@rule("LOS102", severity=Severity.WARNING, needs=[], limits=Limits())
def loss_at_chance(run: Run, limits: Limits) -> Iterator[Finding]:
    if by_answers := list(_by_answers(run, limits)):
        yield from by_answers
        return
    series = loss_to_fall(run, limits.few)
    if len(series) < limits.fewest and not (are_means(run, series) and is_quiet(series)):
        raise NotEnough(f"{limits.fewest} readings of {series.key}, has {len(series)}")
    if run.axis == "step" and series.last_step - series.first_step + 1 < limits.steps:
        raise NotEnough(f"{limits.steps} steps of {series.key}")
    if warming_up(run):
        raise NotEnough("steps after the warm-up of the learning rate")
    blocks = in_blocks(series, size=-(-len(series) // limits.fewest))
    third = blocks.means[-max(2, len(blocks) // 3) :]
    now = float(np.median(third))
    chance = guess_level(run, now) or _within_noise(run, now, blocks.noise / math.sqrt(len(third)), limits)
    spread = limits.steady * abs(now)
    if float(np.ptp(third)) > spread:  # batches of a few samples: as steady as their noise lets it be
        spread = min(limits.noise * blocks.noise, limits.most_noise * abs(now))
    settled_there = chance is not None and float(np.ptp(third)) <= spread
    lowest = now - max(limits.lower * abs(now), spread)
    if chance is None or not settled_there or float(blocks.means.min()) < lowest:
        yield from _never_better(run, series, limits)
        return
    guessing = low_metric(run) or blind_score(run)
    if not chance.known and not chance.confirmed and float(series.values[0]) > (1 + limits.start) * chance.level:
        return  # a loss that came down from anywhere may stop on any number
    sign = f", {guessing}" if guessing else ", and so is the accuracy" if chance.confirmed else ""
    certain = chance.known or chance.confirmed
    settled = int(np.argmax(np.abs(blocks.means - now) <= limits.steady * chance.level))
    yield loss_at_chance.finding(
        f"The {called(series)} has settled at {number(now)}, the level of a blind guess ({chance}){sign}.",
        severity=None if certain or guessing else Severity.NOTE,
        first_step=int(blocks.first_steps[settled]),
        last_step=series.last_step,
        confidence=0.95 if chance.known else 0.85 if chance.confirmed else 0.8 if guessing else 0.5,
        evidence={"now": now, "chance": chance.level, "known": chance.known},
        series=[series.key, "lr", "grad_norm"],
        could_also_be=[
            "labels that do not belong to their inputs: train on 32 examples, which any network can learn by heart.",
            _SATURATED_AT_ONCE if units_at_their_ends(run) else "",
        ],
        try_=[
            "Train on 32 examples until the loss is near zero; if it does not get there, it is the data or the loss.",
            "Print a few inputs with their labels, as the network gets them.",
            better_learning_rate(run, series.first_step),
        ],
    )


def _by_answers(run: Run, limits: Limits) -> Iterator[Finding]:
    """The evaluations alone say that every answer is a guess, however few or restless the readings of the loss are."""
    try:
        series = loss_to_fall(run, limits.evaluations)
    except NotEnough:
        return
    right = [each for each in accuracies(run) if len(each) >= limits.evaluations]
    late, curve = series.tail(-(-len(series) // 2)), outline(series)
    now = late.median()
    if not right or warming_up(run):
        return
    known = known_chance(run.config)  # then the level itself tells, but for how frequent the classes are
    classes = 0 if known else guessed_classes(right, now)
    same = not known and one_answer(run)
    held_out = run.series("val/loss").finite()
    if not (classes or same) and len(held_out) >= limits.evaluations:  # of the very answers that are counted
        series, late = held_out, held_out.tail(-(-len(held_out) // 2))
        curve, now = outline(series), late.median()
    same = same or only_frequencies(run, now)
    usual = max(float(np.median(each.values)) for each in right)
    if known and now > (1 + limits.beside) * calibrated(usual, max(known.classes, 2)):
        return  # worse than whoever knows the frequencies: something else is wrong
    if classes and curve.best >= (1 - limits.lower) * math.log(classes):
        level = f"the level of a blind guess among {classes:,} classes (ln {classes:,} = {math.log(classes):.3f})"
        said = f"{level}, and {right[0].key} is {number(usual)}"
    elif (
        same
        and now >= -math.log(usual)
        and not trend(late).falling
        and curve.best
        > min(
            (1 - limits.better) * now,
            -math.log(usual),  # restless, and still never better than a guess
        )
    ):
        said = f"{same}: whatever it is asked, the network gives the same answer"
    else:
        return
    yield loss_at_chance.finding(
        f"The {called(series)} is at {number(now)}, {said}.",
        first_step=late.first_step,
        last_step=series.last_step,
        confidence=0.85,
        evidence={"now": now, "classes": classes, "accuracy": usual},
        series=[series.key, right[0].key, "lr"],
        could_also_be=["labels that do not belong to their inputs: train on 32 examples, which any network can learn."],
        try_=[
            "Train on 32 examples until the loss is near zero; if it does not get there, it is the data or the loss.",
            "Count how often each class is predicted, and print a few inputs with their labels.",
            better_learning_rate(run, series.first_step),
        ],
    )


def _within_noise(run: Run, now: float, uncertain: float, limits: Limits) -> Chance | None:
    """The known level that the loss is within noise of, with batches as small as these."""
    chance = known_chance(run.config)
    close = limits.noise * uncertain
    if chance is None or not 0 < abs(now - chance.level) <= min(close, limits.most_noise * chance.level):
        return None
    return chance


def _never_better(run: Run, series: Series, limits: Limits) -> Iterator[Finding]:
    """Neither loss is below a guess, the training loss still moves about, and held-out answers are those of a guess."""
    chance, held_out = known_chance(run.config), run.series("val/loss").finite()
    if chance is not None and not chance.classes:
        yield from _constant_answer(run, series, chance, limits)
    if chance is None or chance.classes < 2 or len(held_out) < limits.evaluations:
        return
    accuracy, guess = run.series("val/accuracy").finite(), 1 / chance.classes
    if float(held_out.values.min()) < (1 - limits.lower) * chance.level:
        return
    curve = outline(series)
    if curve.now < (1 - limits.lower) * chance.level:
        yield from _flat_on_its_own_scale(run, series, chance, limits)
        return
    if not accuracy:
        return
    best = float(accuracy.values.max())
    if best > guess + limits.better * (1 - guess):
        return
    yield loss_at_chance.finding(
        f"val/loss was never below the level of a blind guess ({chance}), nor val/accuracy above {number(best)}, and "
        f"the {called(series)} is no better.",
        first_step=held_out.first_step,
        last_step=held_out.last_step,
        confidence=0.9,
        evidence={"lowest": float(held_out.values.min()), "chance": chance.level, "known": True},
        series=["val/loss", series.key, "val/accuracy"],
        could_also_be=["labels that do not belong to their inputs: train on 32 examples, which any network can learn."],
        try_=[
            "Print a few inputs with their labels, as the network gets them.",
            better_learning_rate(run, series.first_step),
        ],
    )


def _flat_on_its_own_scale(run: Run, series: Series, chance: Chance, limits: Limits) -> Iterator[Finding]:
    """The training loss is divided by something, so that its level tells nothing; but it has hardly moved."""
    curve, held_out = outline(series), run.series("val/loss").finite()
    if not run.finished or curve.best < (1 - limits.lower) * curve.start or curve.start > chance.level:
        return
    yield loss_at_chance.finding(
        f"val/loss was never clearly below the level of a blind guess ({chance}), and the {called(series)} hardly "
        f"moved: from {number(curve.start)} to {number(curve.now)}.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.8,
        evidence={"lowest": float(held_out.values.min()), "chance": chance.level, "known": True},
        series=["val/loss", series.key, "lr"],
        could_also_be=["labels that do not belong to their inputs: train on 32 examples, which any network can learn."],
        try_=[
            better_learning_rate(run, series.first_step),
            "See what the loss is divided by: a mean that is divided by the batch size again is a smaller step.",
        ],
    )


def _constant_answer(run: Run, series: Series, chance: Chance, limits: Limits) -> Iterator[Finding]:
    """Regression: far above the variance of the targets for the whole run, or held-out errors that never leave it."""
    curve, level = outline(series), chance.level
    far = math.sqrt(limits.far) if chance.what == DEVIATION else limits.far  # a deviation is not a square
    if curve.best > far * level and curve.now > (1 - limits.halved) * curve.start > 0:
        yield _worse_than_a_constant(
            run,
            series,
            f"The {called(series)} is still {number(curve.now)} (it began at {number(curve.start)}), "
            f"{number(curve.now / level, 2)} times {chance}: a constant answer, the mean of the targets, does better.",
            {"now": curve.now, "chance": level, "known": True},
            "Standardise the targets to mean 0 and standard deviation 1, and scale the answers back afterwards.",
        )
        return
    ended = run.finished and not run.matching("part/") and not run.matching("train/")
    if ended and level <= curve.best <= curve.now <= (1 + limits.beside) * level and chance.what == VARIANCE:
        yield _worse_than_a_constant(
            run,
            series,
            f"The {called(series)} never came below {chance}: it ends at {number(curve.now)}, and a constant answer, "
            "the mean of the targets, does better.",
            {"now": curve.now, "chance": level, "known": True},
            better_learning_rate(run, series.first_step),
        )
        return
    for each in _held_out_errors(run):
        if len(each) < limits.evaluations or not meant_to_fall(run):
            continue
        best, now = float(each.values.min()), each.median(limits.evaluations)
        if now < (1 - limits.under_way) * each.head(limits.evaluations).median():
            continue
        beside = (1 - limits.lower) * level <= best and now <= (1 + limits.beside) * level
        if beside and not _gathers_speed(each, limits):
            yield _worse_than_a_constant(
                run,
                each,
                f"{each.key} was never clearly below {chance}: its best is {number(best)}, which a constant answer "
                "(the mean of the targets) reaches.",
                {"now": now, "chance": level, "known": True},
                "See what else the loss is made of: a part that is summed outweighs one that is averaged.",
            )
            return


def _gathers_speed(series: Series, limits: Limits) -> bool:
    """Whether the latest evaluations fall, and faster than those before them: what nears a constant slows down."""
    late = series.values[-2 * limits.evaluations :]
    middle = len(late) // 2
    early, now = late[0] - late[middle], late[middle] - late[-1]
    much = now > limits.visible * abs(float(late[-1])) and now > limits.speeding * early
    return bool((np.diff(late[middle:]) < 0).all() and much)


def _held_out_errors(run: Run) -> list[Series]:
    """Validation losses, and errors that are squared by name: all on the scale of the targets' variance."""
    squared = [series for series in run.matching("val/") if SQUARED & set(re.split(r"[^a-z0-9]+", series.vital))]
    return [series.finite() for series in [*validation_losses(run), *squared]]


def _worse_than_a_constant(
    run: Run, series: Series, message: str, evidence: dict[str, float | bool], advice: str
) -> Finding:
    return loss_at_chance.finding(
        message,
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.85,
        evidence=evidence,
        series=[series.key, "lr", "grad_norm"],
        could_also_be=(
            "Targets that do not belong to their inputs: train on 32 examples, which any network can learn.",
        ),
        try_=(
            advice,
            "Train on 32 examples until the loss is near zero; if it does not get there, it is the data or the loss.",
        ),
    )
