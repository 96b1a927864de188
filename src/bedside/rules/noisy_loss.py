"""The steps follow noise: the batches are too small for steps this long, and the loss gets nowhere.

## What it sees
Gradients that are nearly all noise, and steps along them that move the weights by a percent or more each time, while
the loss no longer falls; or readings of the loss that scatter by more than all the progress of the run.

## Why it matters
The gradient is as noisy as the loss. With batches this small, or outliers this large, most steps go in a random
direction, and neither a person nor a schedule can see whether anything is learned.

## How it decides
Over the second half of the run the gradient noise scale is `batches` batches or more, so that a step is mostly noise;
the update is at least `moved` of the weights at each step, so that a hundred such steps lose a tenth of them at random;
the loss does not fall, and has won less than `learned` of its first level. Where only the loss is known it is a note,
for some losses are noisy by nature: the noise of one reading is at least `relative` of the level (of a positive loss),
and the progress on means of blocks is less than `hidden` times that noise.

## When it is wrong
A plateau on the way down of a network that is trained with long steps on purpose.

## What to try
1. Raise the batch size, or accumulate: the noise falls with its square root.
2. Lower the learning rate as much as the batch is too small.
3. Log the mean over many steps beside the loss of each.

## Example
>>> from bedside.testing import a_run
>>> print(*noisy_loss.check(a_run(loss=[1.0, 0.2, 2.1, 0.1, 1.4, 0.3, 0.9, 2.4, 0.2, 1.1] * 20)))
LOS109 noisy-loss: One reading of the loss scatters by 1.6 around 0.97, and nothing was won.

## References
- McCandlish et al. (2018), An empirical model of large-batch training.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss_to_fall
from bedside.analysis.statistics import how_sure, in_blocks, noise_level, outline, trend
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRADIENT_NOISE, RELATIVE_UPDATE
from bedside.rules.advice import BATCH_SIZE, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 100  # readings: fewer could not show a trend under any noise
    relative: float = 0.5  # of the level: a batch of typical size scatters by a few percent
    hidden: float = 0.5  # of the noise: what was won is less than half of one scatter
    readings: int = 10  # of the gradient noise and of the updates, in the second half: a median of five either side
    batches: float = 10.0  # of gradient noise: ten parts of a gradient's square in eleven are noise
    moved: float = 0.01  # of the weights, per step: ten times the 1e-3 that good runs are advised to have
    learned: float = 0.7  # of the first level: who has won more may well rest, in noise, at the bottom


@rule("LOS109", severity=Severity.WARNING, needs=[], limits=Limits())
def noisy_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.fewest)
    if finding := _random_steps(run, series, limits):
        yield finding
        return
    means = in_blocks(series, most=20).means
    level, noise = float(np.median(means)), noise_level(series.values)
    won = abs(float(means[0] - np.median(means[-3:])))
    if float(series.values.min()) <= 0 or noise < limits.relative * level or won > limits.hidden * noise:
        return
    times = f"{number(noise / won)} times more than the run has won" if won > 0.01 * noise else "and nothing was won"
    yield noisy_loss.finding(
        f"One reading of the loss scatters by {number(noise, 2)} around {number(level, 2)}, {times}.",
        first_step=series.first_step,
        last_step=series.last_step,
        severity=Severity.NOTE,
        confidence=how_sure(noise / level, limits.relative),
        evidence={"noise": noise, "level": level, "won": won},
        series=[series.key, "grad_norm"],
        could_also_be=[
            "a learning rate so high that the weights jump about: halve it, and see whether the scatter stays.",
            "samples of very different kinds (lengths, timesteps): log the loss per kind.",
        ],
        try_=[
            Advice("Raise the batch size fourfold, or accumulate over four batches.", BATCH_SIZE, 1),
            "Log the mean of the last 100 steps beside the loss of each.",
        ],
    )


def _random_steps(run: Run, series: Series, limits: Limits) -> Finding | None:
    """Steps that are long, nearly all noise, and lead nowhere."""
    late = series.tail(len(series) // 2)
    if len(late) < limits.fewest:
        return None
    noisy = run.series(GRADIENT_NOISE.name).finite()
    vitals = [each.since(late.first_step) for each in (noisy, run.series(RELATIVE_UPDATE.name).finite())]
    if min(len(each) for each in vitals) < limits.readings:
        return None
    noise, moved = (each.median() for each in vitals)
    level = float(np.median(late.values))
    if noise < limits.batches or moved < limits.moved or level < (1 - limits.learned) * outline(series).start:
        return None
    if trend(late).falling:
        return None
    return noisy_loss.finding(
        f"It would take {number(noise, 2)} batches to halve the noise of a gradient, and each step along it moves the "
        f"weights by {percent(moved)}: the loss stayed at {number(level)} from {moment(run, late.first_step)} on.",
        first_step=int(noisy.steps[int(np.argmax(noisy.values >= limits.batches))]),
        last_step=series.last_step,
        confidence=how_sure(min(noise / limits.batches, moved / limits.moved), 0.5),
        evidence={"gradient_noise": noise, "relative_update": moved, "level": level},
        series=[series.key, GRADIENT_NOISE.name, RELATIVE_UPDATE.name],
        could_also_be=[
            "labels that do not belong to their inputs: train on 32 examples; they must be learned by heart."
        ],
        try_=[
            Advice(f"Raise the batch size {number(noise / 2, 1)}-fold, or accumulate as many batches.", BATCH_SIZE, 1),
            lower_learning_rate(run, series.last_step, by=5),
        ],
    )
