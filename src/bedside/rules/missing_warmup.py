"""The run began at its full learning rate, and the first steps threw it back.

## What it sees
A learning rate that is at its peak from the first step, and a loss that jumps well above its first value in the first
steps before it comes back.

## Why it matters
Adaptive optimizers know nothing about the gradients in their first steps, and take them at full length. What the jump
destroys (attention patterns, normalisation statistics, a pretrained start) has to be learned again.

## How it decides
The rate is within a hair of its peak at the first reading and does not rise later; the loss rises from the first
`at_once` of the run on and, by medians of three, is `jump` times its first level within `early` of the run and more
than ten times its noise above it; and it does come back. Where the size of the steps was recorded, those on the way up
must be `longer` times the later ones: a loss that rises under ordinary steps has another cause. A loss that does not
come back is left to oversized-update or diverging-loss, and one that rises where the task changed is the task's.

## When it is wrong
Restarted runs, whose first loss is that of a trained model on one easy batch.

## What to try
1. Warm the learning rate up over the first 5 % of the steps.
2. Or lower it.

## Example
>>> from bedside.testing import a_run
>>> loss = [2.3, 2.4, 5.0, 6.0, 5.5, 4.0, 3.0, 2.5] + [2.3 - 0.005 * k for k in range(292)]
>>> print(*missing_warmup.check(a_run(loss=loss, lr=1e-3)))
LRS101 missing-warmup: At the full learning rate of 0.001 from the first step, the loss jumped from 2.3 to 5.5 by step \
3 and needed until step 8 to come back.

## References
- Liu et al. (2020), On the variance of the adaptive learning rate and beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss_to_fall
from bedside.analysis.near_task_change import task_changed
from bedside.analysis.schedule import read_schedule
from bedside.analysis.statistics import noise_level
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, LR, RELATIVE_UPDATE
from bedside.rules.advice import lower_learning_rate, moment, warm_up
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    jump: float = 1.5  # times the first loss: half as much again
    early: float = 0.1  # of the run: the time of a warm-up
    at_once: float = 0.02  # of the run, and a few steps at least: what the first steps destroy shows at once
    noise: float = 10.0  # σ of a reading: small batches wiggle
    times: float = 6.0  # σ of the logarithm of a reading: a median of three of pure noise stays within three
    longer: float = 3.0  # times the later steps: those of an optimizer without a memory
    first: int = 3  # readings: a median of three sees a jump this late at the latest
    readings: int = 50  # five in the first tenth: fewer show no jump and no way back


@rule("LRS101", severity=Severity.WARNING, needs=[LR, LOSS], limits=Limits(), preview_since="0.1")
def missing_warmup(run: Run, limits: Limits) -> Iterator[Finding]:
    schedule = read_schedule(run)
    if schedule is None:
        return
    loss = training_loss_to_fall(run, fewest=limits.readings)
    if schedule.warm > 0 or loss.first_step > limits.early * run.steps or loss.values[0] <= 0:
        return
    start = float(loss.values[0])
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(loss.values, 3), axis=1)
    begin = smooth[: max(1, int(limits.early * len(smooth)))]
    top = int(np.argmax(begin))
    peak = float(begin[top])
    noise = noise_level(loss.values[len(loss) // 2 :])
    shaky = limits.times * noise_level(np.log(np.maximum(loss.values, 1e-30)))  # batches differ in proportion, too
    if peak < limits.jump * start or peak - start < limits.noise * noise or math.log(peak / start) < shaky:
        return
    rises = int(np.argmax(smooth > start + limits.noise * noise))
    if rises > max(limits.first, limits.at_once * len(smooth)) or task_changed(run, int(loss.steps[rises])):
        return
    if not _long_steps(run, int(loss.steps[top + 1]), limits):
        return
    back = np.flatnonzero(smooth[top:] <= start)
    if not len(back):
        return
    recovered = int(loss.steps[top + int(back[0]) + 1])
    yield missing_warmup.finding(
        f"At the full learning rate of {number(schedule.peak)} from the first step, the loss jumped from "
        f"{number(start)} to {number(peak)} by {moment(run, int(loss.steps[top + 1]))} and needed until "
        f"{moment(run, recovered)} to come back.",
        first_step=int(loss.steps[0]),
        last_step=recovered,
        confidence=0.7,
        evidence={"first_loss": start, "peak_loss": peak, "recovered": recovered, "learning_rate": schedule.peak},
        series=[LOSS.name, LR.name],
        could_also_be=("A resumed run whose optimizer state was not restored: check the checkpoint.",),
        try_=(
            warm_up(run),
            lower_learning_rate(run, int(loss.steps[0]), 3.0),
        ),
    )


def _long_steps(run: Run, top: int, limits: Limits) -> bool:
    """Whether the steps up to `top` were longer than later ones; True where nobody measured them."""
    ratios = run.series(RELATIVE_UPDATE.name).finite()
    early, later = ratios.before(top + 1), ratios.since(2 * top + 1)
    if not early or len(later) < limits.first:
        return True
    return float(early.values.max()) > limits.longer * later.median()
