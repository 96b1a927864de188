"""The loss wiggles so much that its trend cannot be seen.

## What it sees
Readings that scatter by more than all the progress of the run, around a level that hardly changes.

## Why it matters
The gradient is as noisy as the loss. With batches this small, or outliers this large, most steps go in a random
direction, and neither a person nor a schedule can see whether anything is learned.

## How it decides
The noise of one reading is at least `relative` of the level (of a positive loss), and the progress on means of blocks
is less than `hidden` times that noise.

## When it is wrong
Losses that are noisy by nature: a random timestep per sample (diffusion), sequences of very different length, a batch
of one.

## What to try
1. Raise the batch size, or accumulate: the noise falls with its square root.
2. Log the mean over many steps beside the loss of each.

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

from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.report.wording import number
from bedside.rules.losses import training_loss_to_fall
from bedside.rules.rule import rule
from bedside.rules.statistics import how_sure, in_blocks, noise_level


@dataclass(frozen=True)
class Limits:
    fewest: int = 100  # readings: fewer could not show a trend under any noise
    relative: float = 0.5  # of the level: a batch of typical size scatters by a few percent
    hidden: float = 0.5  # of the noise: what was won is less than half of one scatter


@rule("LOS109", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def noisy_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.fewest)
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
        confidence=how_sure(noise / level, limits.relative),
        evidence={"noise": noise, "level": level, "won": won},
        series=[series.key, "grad_norm"],
        could_also_be=[
            "a learning rate so high that the weights jump about: halve it, and see whether the scatter stays.",
            "samples of very different kinds (lengths, timesteps): log the loss per kind.",
        ],
        try_=[
            "Raise the batch size fourfold, or accumulate over four batches: the scatter halves.",
            "Log the mean of the last 100 steps beside the loss of each.",
        ],
    )
