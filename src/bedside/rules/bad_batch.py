"""One batch was unlike all others, and the loss leapt with it.

## What it sees
A leap of the loss at a step whose inputs were many times larger (or smaller) than usual.

## Why it matters
The gradient of such a batch throws the weights out of their basin and stays in the optimizer's averages for hundreds of
steps. It is the data and not the learning rate: the same batch does it again in every epoch.

## How it decides
At a step the size of the inputs differs from their median by more than `ratio`, and by more than `far` times its usual
deviation; and the loss leaps out of its own past at that very step, or at the next one: a network may get a strange
sample right, and be thrown off by its gradient all the same.

## When it is wrong
Data with sizes over many orders of magnitude: then the usual deviation is large, and nothing stands out.

## What to try
1. Look at that batch: a sample that was not normalised, a wrong unit, a corrupt file.
2. Clip the gradient norm, so that one batch cannot move the weights far.
3. Clamp or drop such samples in the data set.

## Example
>>> from bedside.testing import a_run
>>> loss = [2.3 - 0.01 * i + 0.02 * (i % 3) for i in range(100)]
>>> size = [1.0 + 0.01 * (i % 7) for i in range(100)]
>>> loss[70], size[70] = 30.0, 1000.0
>>> print(*bad_batch.check(a_run(loss=loss, input_rms=size)))
DAT106 bad-batch: The batch of step 70 was 971 times as large as usual, and the loss leapt from 1.72 to 30 with it.

## References
- Chowdhery et al. (2022), PaLM: section 5.1, spikes that skipping a few batches avoided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics import how_sure, mad
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, INPUT_RMS, LOSS
from bedside.rules.advice import clip_gradient, moment
from bedside.rules.base import rule
from bedside.wording import number

PAST = 20  # losses before the leap that give the level it left


@dataclass(frozen=True)
class Limits:
    fewest: int = 20  # readings of both: what is usual must be known
    ratio: float = 3.0  # inputs against their median: three times is beyond any augmentation of brightness or scale
    far: float = 10.0  # usual deviations: never by chance
    leap: float = 0.5  # of the level before: as for a loss-spike that is worth a warning


@rule("DAT106", severity=Severity.WARNING, needs=[INPUT_RMS, LOSS], limits=Limits())
def bad_batch(run: Run, limits: Limits) -> Iterator[Finding]:
    sizes, losses = run.series(INPUT_RMS.name).finite(), run.series(LOSS.name)
    sizes = Series(sizes.vital, "", sizes.steps[sizes.values > 0], sizes.values[sizes.values > 0])
    if min(len(sizes), len(losses)) < limits.fewest:
        raise NotEnough(f"{limits.fewest} steps of {INPUT_RMS.name} and {LOSS.name}")
    logs = np.log(sizes.values)
    usual = float(np.median(logs))
    spread = max(mad(logs), 1e-3)
    strange = np.abs(logs - usual)
    found = [
        (int(step), float(np.exp(size - usual)), leap)
        for step, size, odd in zip(sizes.steps, logs, strange, strict=True)
        if odd > max(math.log(limits.ratio), limits.far * spread)
        and (leap := _leap(losses, int(step), limits)) is not None
    ]
    if not found:
        return
    step, ratio, (before, peak) = max(found, key=lambda each: each[2][1] if math.isfinite(each[2][1]) else math.inf)
    compared = f"{number(ratio)} times as large as" if ratio > 1 else f"{number(1 / ratio)} times smaller than"
    others = f" ({len(found)} such batches)" if len(found) > 1 else ""
    yield bad_batch.finding(
        f"The batch of {moment(run, step)} was {compared} usual, and the loss leapt from {number(before)} to "
        f"{number(peak)} with it{others}.",
        first_step=min(each[0] for each in found),
        last_step=max(each[0] for each in found),
        confidence=how_sure(max(ratio, 1 / ratio), limits.ratio, most=0.97),
        evidence={"size_over_usual": ratio, "loss_before": before, "loss_then": peak, "batches": len(found)},
        series=[LOSS.name, INPUT_RMS.name, GRAD_NORM.name],
        try_=(
            f"Look at the batch of {moment(run, step)}: a sample not normalised, a wrong unit, a corrupt file.",
            clip_gradient(run),
        ),
    )


def _leap(losses: Series, step: int, limits: Limits) -> tuple[float, float] | None:
    """The level before, and the loss at that step or the next, if it leapt there."""
    before, here = losses.before(step).finite().tail(PAST), losses.since(step).before(step + 2)
    if len(before) < 5 or not here:
        return None
    level, noise, then = before.median(), mad(before.values), float(here.values.max())  # NaN, if there is one
    if not math.isfinite(then):
        return level, then
    return (level, then) if then - level > max(limits.leap * abs(level), limits.far * noise) else None
