"""The loss never moved: the network has not begun to learn.

## What it sees
A loss that is, after all these steps, still where it began, or above.

## Why it matters
Nothing is being learned, and more of the same will not help: a learning rate far too small or zero, weights that no
optimizer moves, dead units, an initialisation out of range, or labels that have nothing to do with the inputs.

## How it decides
On means of blocks: neither are the later ones lower than the first, nor any quarter of the run lower than the first
quarter, by `moved` of the level, nor by `noise` times the noise of what is compared. Where the blocks themselves are
too noisy to see `resolution` of the level (and the first reading is not the best by far, below all later ones by
`above` and by `lift` of their range), or the learning rate has only ever risen (a warm-up), it is too early to
judge. A loss may be flat because it was good to begin with, so it takes a sign of ignorance to make it a warning: the
level is that of chance, the data went by three times, the learning rate or the updates are below 1e-7, an accuracy
stays below 0.1 or is the same to the last digit again and again, or a score never left what a blind guess has (R² 0,
AUC 0.5), or the first steps threw the loss up and it only came back to where it was. That the data went by often is
not enough where the loss may have fallen by `moved`, and only `perhaps` its noise hides it; nor where a loss is
negative, so that its level means little, and held-out examples were `clearly` dearer at their first evaluation. Without
a sign it is a note. A loss that is `worse` than its first value throughout the second half (though not `doubled`, which
is a divergence) is worse than an untrained network, and needs no other sign.

A `few` means of epochs or evaluations that hardly scatter are enough. Without any loss accuracies are judged: those of
training and of held-out data, `answers` readings of each, none of which is above `right` or `gained` anything.

## When it is wrong
Tasks with a long first plateau (some recurrent and speech models) that a longer run leaves.

## What to try
1. Train on one batch only with a learning rate of 1e-3 (Adam): if the loss does not go to zero, there is a bug.
2. Raise the learning rate tenfold; look at it in the log.
3. Check that the optimizer holds the model's parameters and that labels belong to their inputs.

## Example
>>> from bedside.testing import a_run
>>> print(*stuck_from_start.check(a_run(loss=[2.303, 2.301, 2.304, 2.302] * 50, config={"classes": 10})))
LOS103 stuck-from-start: The loss has not moved in 200 steps: 2.3 then, 2.3 now, which is chance (ln 10 = 2.303).

## References
- Karpathy (2019), A recipe for training neural networks: overfit a single batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies
from bedside.analysis.losses import called, loss_to_fall, rewards, validation_losses, validation_metrics
from bedside.analysis.means_of_epochs import are_means, is_quiet
from bedside.analysis.schedule import warming_up
from bedside.analysis.statistics import in_blocks, noise_level, outline, trend
from bedside.analysis.untrained_signs import MANY_EPOCHS, Sign, blind_score, signs_of_ignorance
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.rules.advice import lower_learning_rate, raise_learning_rate
from bedside.rules.base import rule
from bedside.wording import number, percent, steps


@dataclass(frozen=True)
class Limits:
    moved: float = 0.02  # of the level: learning anything at all changes a loss by more (runmedic: 2 %)
    noise: float = 3.0  # σ of a block mean: beyond it a block is really lower
    resolution: float = 0.1  # of the level: a blur wider than this could hide real learning
    quarters: int = 4  # of the run, as wide as they can be and still show a fall
    blocks: int = 20  # as many places as a person would compare
    fewest: int = 10  # readings
    few: int = 6  # means of epochs or evaluations, if they scatter by next to nothing: see means_of_epochs
    above: float = 1.25  # times the first reading, all later ones: no lucky batch is the best of the run by that much
    lift: float = 0.5  # of the range of the later ones, between the first and the lowest of them
    answers: int = 8  # readings of each accuracy, where no loss is known
    gained: float = 0.01  # of all answers: training that does anything wins more in so many epochs
    unsure: float = 0.03  # of all answers, the noise of one reading: beyond it eight readings hide a rise
    right: float = 0.6  # of all answers: above it a network may be as good as it gets
    perhaps: float = 0.5  # of that blur: a fall as large may be real, and is with fine-tuned models
    worse: float = 0.1  # of the level: an ill-chosen batch order costs a fine-tuned model a few percent at most
    doubled: float = 2.0  # times its level: diverging-loss speaks from there on; a first block that high was blown up
    evaluations: int = 8  # four in the second half show how far held-out losses scatter
    clearly: float = 10.0  # times all that the second half scatters: the first evaluations were really worse
    steps: int = 100  # a few dozen steps may be a warm-up; a hundred without any change are not


# Of a watched run, whose parameters are known, uncovered-parameter and dead-layer say it where it is so.
_CHECK_THE_OPTIMIZER = "Check that the optimizer holds the model's parameters, and that their gradients are not zero."


@rule("LOS103", severity=Severity.WARNING, needs=[], limits=Limits())
def stuck_from_start(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.loss and not validation_losses(run):
        yield from _by_answers(run, limits)
        return
    series = loss_to_fall(run, limits.few)
    means_only = are_means(run, series) and (is_quiet(series) or _thrown_up(series, limits))
    means_only &= run.axis != "epoch" or series.first_step <= limits.few  # the end of a long run is no start
    if len(series) < (limits.few if means_only else limits.fewest):
        raise NotEnough(f"{limits.fewest} readings of {series.key}, has {len(series)}")
    length = series.last_step - series.first_step + 1
    per_epoch = run.axis == "epoch"
    if not per_epoch and length < limits.steps:
        raise NotEnough(f"{limits.steps} steps of {series.key}, has {length}")
    if warming_up(run):
        raise NotEnough("steps after the warm-up of the learning rate")

    blocks = in_blocks(series, most=limits.blocks)
    means = blocks.means
    if len(blocks) < 3:
        raise NotEnough(f"a longer run: {series.key} wanders too slowly to be judged on {len(series)} readings")
    first = _first_level(series, means, limits)
    blown = first < float(means[0])  # by the first steps, so that its first reading is the level it began at
    quarters = np.array([float(part.mean()) for part in np.array_split(means, min(limits.quarters, len(means)))])
    if blown:
        quarters[0] = first
    level, blur = abs(first), limits.noise * blocks.noise * math.sqrt(2 * len(quarters) / len(means))
    at_once = first - float(np.median(means[1:])) - limits.noise * blocks.noise
    fall = max(float(quarters[0] - quarters.min()), at_once)
    creeping = trend(series).falling
    if fall > max(limits.moved * level, blur) or (creeping and fall > limits.moved * level):
        return
    later = means[len(means) // 2 :]
    thrown_up = _thrown_up(series, limits)
    if blur > limits.resolution * level and float(later.min()) - first <= blur and not thrown_up:
        raise NotEnough(f"a longer run: {series.key} is too noisy to tell learning from chance")
    worse = float(later.min()) > first + limits.worse * level
    rose = float(quarters[-1]) - first
    if (_metric_improved(run) and not blind_score(run)) or (
        not worse and not blown and rose > max(limits.moved * level, blur)
    ):
        return  # something was learned that the loss hides; or it moved, and not clearly for the worse
    if worse and not blown and float(np.median(later)) > limits.doubled * level:
        return  # that is a divergence

    signs = signs_of_ignorance(run, float(means[-1]))
    sure = max((sign.sure for sign in signs), default=0.0)
    if first < 0 and not (worse or blown) and sure <= MANY_EPOCHS and _held_out_improved(run, limits):
        raise NotEnough(
            f"a loss that has a level of its own: the batches of {series.key} differ by more than is learned"
        )
    perhaps = fall > max(limits.moved * level, limits.perhaps * blur)
    if perhaps and not worse and not blown and sure <= MANY_EPOCHS:
        raise NotEnough(f"a longer run: {series.key} may have fallen by {percent(fall / level)}, which its noise hides")
    if blown:
        signs.append(Sign("after the first steps had thrown it up", 0.75))
    if worse:
        signs.insert(0, Sign("which is worse than an untrained network", 0.85))
        how = "has never come below its first value"
    else:
        how = f"has fallen by only {fall / level:.1g} of its level" if creeping and level else "has not moved"
    yield stuck_from_start.finding(
        f"The {called(series)} {how} in {steps(length, run.axis)}: "
        f"{number(first)} then, {number(means[-1])} now{''.join(f', {sign.text}' for sign in signs)}.",
        severity=None if signs else Severity.NOTE,
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=signs[0].sure if signs else 0.4,
        evidence={"first": first, "now": float(means[-1]), "fall": fall, "noise": blocks.noise},
        series=[series.key, "lr", "grad_norm"],
        could_also_be=[
            "labels that do not belong to their inputs: train on 32 examples; if even they cannot be learned by heart, "
            "look at the data and the loss.",
            "a model that was good to begin with: evaluate the first checkpoint.",
            "a long first plateau: wait as long again.",
        ],
        try_=[
            lower_learning_rate(run, series.first_step) if worse else raise_learning_rate(run, series.last_step),
            "Train on one batch only, with a learning rate of 1e-3 for Adam: it must go to zero within minutes.",
            "" if run.parameters else _CHECK_THE_OPTIMIZER,
        ],
    )


def _first_level(series: Series, means: Values, limits: Limits) -> float:
    """The level it began at: the first block, unless the first steps threw the loss far above its first reading."""
    reading, block = float(series.values[0]), float(means[0])
    return reading if 0 < limits.doubled * reading < block else block


def _held_out_improved(run: Run, limits: Limits) -> bool:
    """Whether the same held-out examples cost clearly less than at first: their loss knows no difference of batches."""
    for series in (each.finite() for each in validation_losses(run)):
        late = series.values[len(series) // 2 :]
        if len(series) >= limits.evaluations:
            return bool(float(series.values[0]) - float(late.max()) > limits.clearly * float(np.ptp(late)))
    return False


def _thrown_up(series: Series, limits: Limits) -> bool:
    """Whether the first reading was the best by far, though an untrained network should be the worst there is."""
    first, later = float(series.values[0]), series.values[1:]
    lowest = float(later.min())
    return first > 0 and lowest >= limits.above * first and lowest - first >= limits.lift * float(np.ptp(later))


def _by_answers(run: Run, limits: Limits) -> Iterator[Finding]:
    """No loss was logged: answers of the training data itself, and held-out ones, that never got better."""
    trained = [each for each in accuracies(run, "train") if len(each) >= limits.answers]
    held_out = [each for each in accuracies(run) if len(each) >= limits.answers]
    if not trained:
        raise NotEnough(f"loss or val/loss, or {limits.answers} accuracies of training data")
    for each in [*trained, *held_out]:
        third = max(2, len(each) // 3)
        first, now = float(np.median(each.values[:third])), float(np.median(each.values[-third:]))
        noise = noise_level(each.values)
        better = max(limits.gained, limits.noise * noise / math.sqrt(third))
        if float(np.median(each.values)) > limits.right or noise > limits.unsure or trend(each).rising:
            return
        if now - first > better or float(outline(each).values.max()) - first > 2 * better:
            return
    series = trained[0]
    yield stuck_from_start.finding(
        f"{series.key} has not risen in {len(series)} readings: {number(float(series.values[0]))} then, "
        f"{number(series.last)} now.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.75,
        evidence={"first": float(series.values[0]), "now": series.last},
        series=[each.key for each in (*trained[:1], *held_out[:1])],
        could_also_be=["a model that was as good as it can be to begin with: evaluate the first checkpoint."],
        try_=[
            "Train on 32 examples: an accuracy that does not reach 1 within minutes is a fault of data, loss or rate.",
            "Log the training loss: whether it falls tells a wrong metric from a network that does not learn.",
        ],
    )


def _metric_improved(run: Run) -> bool:
    for metric in [*validation_metrics(run), *rewards(run)]:
        slope = trend(metric)
        if slope.significant() and (slope.change > 0) == goes_up(metric.vital):
            return True
    return False
