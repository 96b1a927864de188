"""The loss leaps up, far beyond its usual noise, and comes back.

## What it sees
Isolated excursions of the training loss that undo a good part of the progress for a moment or for many steps.

## Why it matters
A batch or a step threw the weights out of their basin. The run pays for the way back, optimizer statistics stay
poisoned for a while, and the next leap may not come back.

## How it decides
A reading is far out when it leaves the median of the ten before it by five times the tail (95th percentile) of the
curve's usual deviations, on the logarithm for a positive loss, or on the loss itself where it comes to `untrained`
times the worst of the first steps and is `unlikely` for the scatter of the logarithm as well. The excursion must come
back within `brief` of the run; if it does not, it is a divergence, a restart or a new level. Its height is compared
with the progress made by then, or with the level itself where that is more: `share` of it makes a warning (a lone
reading must be `untrained` times worse than an untrained network besides, otherwise it is one odd batch), and so does
`part` of it when the excursion lasts `lasting` readings or when there are `several`; a single one is a note. The first
steps do not count, nor what begins where the run was resumed, got its first weights back or the learning rate was
raised. Leaps of a `young` run that went no higher than `untrained` says are a note where the loss has more than
`halved` since, and so are those of any run whose loss has come down to a `tenth` since. A curve with more than `rare`
of its readings far out is a noisy one, not a spiky one; unless its first `calm` knew nothing of the kind, and readings
that are `untrained` times worse than an untrained network came `often` since. Among fewer than `fewest` readings only
one counts that is `beyond` all that the others differ by, and their level; or, of `smooth` and more, one that is
`untrained` times worse than an untrained network, `tails` of the scatter and `fold` above its neighbours.

## When it is wrong
Data with rare, truly harder batches: the weights are not disturbed then, and the next reading is normal.

## What to try
1. Look at the batch of that step; skip or filter it.
2. Clip the gradient norm below its usual value, so that one batch cannot move the weights far.
3. Lower the learning rate, or Adam's beta2 to 0.95, if it comes again.

## Example
>>> from bedside.testing import a_run
>>> loss = [2.3 - 0.01 * i + 0.02 * (i % 3) for i in range(100)]
>>> loss[70] = 30.0
>>> print(*loss_spike.check(a_run(loss=loss)))
LOS107 loss-spike: The loss leapt from 1.67 to 30 at step 70 and was back after 1 reading.

## References
- Chowdhery et al. (2022), PaLM: section 5.1, training instability.
- Molybog et al. (2023), A theory on Adam instability in large-scale machine learning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss_to_fall
from bedside.analysis.near_task_change import task_changed
from bedside.analysis.statistics import Spike, how_sure, in_blocks, mad, noise_level, outline, spikes
from bedside.analysis.statistics.outline import PLACES, running_median
from bedside.analysis.statistics.spikes import NEIGHBOURS
from bedside.analysis.weights_put_back import weights_put_back
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.rules.advice import clip_gradient, learning_rate, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import number, plural

MOMENT = 2  # steps either side of a resume


@dataclass(frozen=True)
class Limits:
    some: int = 6  # readings: two before, one far out, and the rest to have come back
    beyond: float = 100.0  # times all that the other readings differ by: no noise that they show has such a tail
    smooth: int = 10  # readings: as many show how much they scatter
    tails: float = 10.0  # σ of the logarithm of one reading, estimated from so few
    fold: float = 4.0  # times the highest of its neighbours, at least
    fewest: int = 40  # readings: twice the neighbourhood that tells what is usual
    share: float = 1.0  # of the progress and of the level: all that was won is gone for a moment, and the loss doubled
    part: float = 0.2  # of the progress: as high as a leap from 3.3 to 5 of a language model that began at 11
    lasting: int = 5  # readings: a strange batch is over after one, thrown-out weights need steps to return
    several: int = 3  # excursions: once may be the data, three times is the run
    brief: float = 0.1  # of the run: what takes longer is a new level
    rare: float = 0.01  # of the readings: more is the curve's way, not an exception
    untrained: float = 2.0  # times the worst of the first steps: beyond what not knowing anything costs
    unlikely: float = 5.5  # σ of the logarithm: the most extreme of ten million readings
    early: float = 0.02  # of the readings: the first steps leap in every run
    young: float = 1 / 3  # of the run: large steps at full batch leap early, and are over it
    halved: float = 0.5  # of the level before the leap: what came after it outweighs it
    calm: float = 0.2  # of the readings: what is noisy by nature has shown it by then
    tenth: float = 0.1  # the same of a leap at any age: one that nine tenths were won after cost the run nothing
    often: int = 4  # leaps, each worse than an untrained network: one more than `several`, as their heights differ
    raised: float = 1.5  # learning rate after over before: a warm restart explains the leap


@rule("LOS107", severity=Severity.WARNING, needs=[], limits=Limits())
def loss_spike(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.some)
    if len(series) < limits.fewest:
        if not (lone := _beyond_all(run, series, limits)):
            raise NotEnough(f"{limits.fewest} readings of {series.key}, has {len(series)}")
        yield lone
        return
    found = _leaps(run, series, limits) or _leaps(run, _coarse(series), limits)
    shares = [_share(series, spike) for _, spike in found]
    counted = [pair for pair, share in zip(found, shares, strict=True) if share >= limits.part]
    if not counted:
        yield from _again_and_again(run, series, limits)
        return
    outgrown = all(_outgrown(series, spike, curve, limits) for curve, spike in counted)
    steps, highest = max(counted, key=lambda pair: pair[1].height)
    long = any(spike.last - spike.first + 1 >= limits.lasting for _, spike in counted)
    untrained = float(series.values[: max(5, int(limits.early * len(series)))].max())
    high = any(
        share >= limits.share
        and (spike.last > spike.first or spike.level + spike.height > limits.untrained * untrained)
        for (_, spike), share in zip(found, shares, strict=True)
    )
    warn = (high or long or len(counted) >= limits.several) and not outgrown
    length = highest.last - highest.first + 1
    others = f"; {len(counted)} such leaps in all" if len(counted) > 1 else ""
    step = int(steps.steps[highest.peak])
    first = int(min(curve.steps[spike.first] for curve, spike in counted))
    yield loss_spike.finding(
        f"The loss leapt from {number(highest.level)} to {number(highest.level + highest.height)} at "
        f"{moment(run, step)} and was back after {plural(length, 'reading')}{others}.",
        severity=None if warn else Severity.NOTE,
        first_step=first,
        last_step=int(max(curve.steps[spike.last] for curve, spike in counted)),
        confidence=how_sure(highest.tails, 2.5) * (1.0 if warn else 0.6),
        evidence={
            "spikes": len(counted),
            "level": highest.level,
            "peak": highest.level + highest.height,
            "share_of_progress": min(max(shares), 1e9),
            "readings": length,
        },
        series=[series.key, "grad_norm", "lr"],
        could_also_be=[
            "a batch of strange or broken data: run the batch of that step through the last good checkpoint.",
            "a learning rate at the edge of stability: repeat from the checkpoint before it with another data order; "
            "if the leap comes again, it is not the batch.",
        ],
        try_=[
            f"Look at the batch of {moment(run, step)}, and skip it if it is broken.",
            clip_gradient(run, at=2 * run.series("grad_norm").median()) if run.has("grad_norm") else "",
            lower_learning_rate(run, step, by=2),
        ],
    )


def _beyond_all(run: Run, series: Series, limits: Limits) -> Finding | None:
    """In a log of few readings: one that leaves all others so far behind that no usual deviation need be known."""
    peak = int(np.argmax(series.values))
    others = np.delete(series.values, peak)
    before, after = series.values[:peak], series.values[peak + 1 :]
    if min(len(before), len(after)) < MOMENT or _near_change(run, int(series.steps[peak])):
        return None
    spread, level = float(np.ptp(others)), float(np.median(before))
    height = float(series.values[peak]) - level
    if height <= limits.beyond * max(spread, abs(level)) and not _beyond_untrained(series, peak, limits):
        return None
    level = float(np.median(before[-MOMENT:]))
    step = int(series.steps[peak])
    return loss_spike.finding(
        f"The loss leapt from {number(level)} to {number(float(series.values[peak]))} at {moment(run, step)} and was "
        "back after 1 reading.",
        first_step=step,
        last_step=step,
        confidence=0.7,
        evidence={"spikes": 1, "level": level, "peak": float(series.values[peak]), "readings": 1},
        series=[series.key, "grad_norm", "lr"],
        could_also_be=["a batch of strange or broken data: run the batch of that step through the last checkpoint."],
        try_=[f"Look at the batch of {moment(run, step)}, and skip it if it is broken.", clip_gradient(run)],
    )


def _beyond_untrained(series: Series, peak: int, limits: Limits) -> bool:
    """Whether one reading is far worse than an untrained network, among others that hardly scatter."""
    values = series.values
    if len(values) < limits.smooth or float(values.min()) <= 0:
        return False
    logarithms = np.log(values)
    around = np.r_[logarithms[peak - MOMENT : peak], logarithms[peak + 1 : peak + 1 + MOMENT]]
    noise = noise_level(np.delete(logarithms, peak))
    leap = float(logarithms[peak] - around.max())
    return float(values[peak]) > limits.untrained * float(values[0]) and leap > max(
        limits.tails * noise, math.log(limits.fold)
    )


def _again_and_again(run: Run, series: Series, limits: Limits) -> Iterator[Finding]:
    """Leaps that became the rule, in a curve which had none before: the run is at the edge of stability."""
    n = len(series)
    untrained = float(series.values[: max(5, int(limits.early * n))].max())
    over = series.values > limits.untrained * untrained
    if float(series.values.min()) > 0:
        over &= _above(series) > limits.unlikely * _scatter(series)
    if untrained <= 0 or not over.any() or int(np.argmax(over)) < limits.calm * n:
        return
    begins = np.flatnonzero(over & ~np.concatenate([[False], over[:-1]]))
    first, highest = int(series.steps[begins[0]]), int(np.argmax(series.values))
    if len(begins) < limits.often or any(_near_change(run, int(series.steps[each])) for each in begins):
        return
    yield loss_spike.finding(
        f"The loss has leapt above {number(limits.untrained * untrained)} {len(begins)} times since "
        f"{moment(run, first)}, twice what the untrained network cost; at {moment(run, int(series.steps[highest]))} to "
        f"{number(float(series.values[highest]))}.",
        first_step=first,
        last_step=int(series.steps[begins[-1]]),
        confidence=0.85,
        evidence={"spikes": len(begins), "untrained": untrained, "peak": float(series.values[highest])},
        series=[series.key, "grad_norm", "lr"],
        could_also_be=["batches of strange or broken data, which began to come at that step."],
        try_=[
            lower_learning_rate(run, first, by=3),
            clip_gradient(run, at=2 * run.series("grad_norm").median()) if run.has("grad_norm") else "",
        ],
    )


def _near_change(run: Run, step: int) -> bool:
    """Whether the run was resumed, got another task or its first weights back just there."""
    resumed = any(abs(step - event.step) <= MOMENT for event in run.events_of("resume"))
    return resumed or task_changed(run, step) or weights_put_back(run, step)


def _leaps(run: Run, series: Series, limits: Limits) -> list[tuple[Series, Spike]]:
    """Excursions that came back soon and that nothing else explains; none at all when they are the rule."""
    n = len(series)
    if n < limits.fewest:
        return []
    positive = float(series.values.min()) > 0
    skip = max(5, int(limits.early * n))
    every = spikes(series.values, positive=positive, skip=skip)
    if positive and not every:
        # Near zero a logarithm is all noise, and hides even a leap that is worse than an untrained network.
        beyond = limits.untrained * float(series.values[:skip].max())
        least = limits.unlikely * _scatter(series)  # batches of a few examples, most of them known, have wild losses
        every = [s for s in spikes(series.values, positive=False, skip=skip) if s.level + s.height > beyond]
        every = [s for s in every if s.level > 0 and math.log1p(s.height / s.level) > least]
    if len(every) > max(limits.several, limits.rare * n):
        return []
    longest = max(limits.lasting, limits.brief * n)
    return [
        (series, spike)
        for spike in every
        if spike.back and spike.last - spike.first < longest and not _explained(run, series, spike, limits)
    ]


def _scatter(series: Series) -> float:
    """σ of the logarithm of one reading."""
    return mad(_above(series))


def _above(series: Series) -> Values:
    """How far each reading is above its neighbours, on the logarithm."""
    logarithms: Values = np.log(series.values)
    above: Values = logarithms - running_median(logarithms, NEIGHBOURS)
    return above


def _outgrown(series: Series, spike: Spike, curve: Series, limits: Limits) -> bool:
    """A leap no higher than the start, after which half of what was left was won, or later in the run nearly all."""
    young = curve.steps[spike.last] <= series.first_step + limits.young * (series.last_step - series.first_step)
    started = float(series.values[: max(5, int(limits.early * len(series)))].max())
    highest, end = spike.level + spike.height, outline(series).now
    return highest < limits.untrained * started and 0 < end < (limits.halved if young else limits.tenth) * spike.level


def _coarse(series: Series) -> Series:
    """Medians of blocks, on which an excursion of hundreds of readings is as short as one of ten."""
    if len(series) <= PLACES:
        return Series(series.vital)
    blocks = in_blocks(series, size=-(-len(series) // PLACES))
    return Series(series.vital, series.owner, blocks.first_steps, blocks.medians)


def _share(series: Series, spike: Spike) -> float:
    """The height in units of the progress made by then, or of the level where that is more."""
    progress = max(float(series.values[0]) - spike.level, spike.level, 0.0)
    return spike.height / progress if progress > 0 else spike.height / max(abs(spike.level), 1e-12)


def _explained(run: Run, series: Series, spike: Spike, limits: Limits) -> bool:
    """By a resume, a raised learning rate, another task or first weights that were put back, just at its beginning."""
    step, gap = int(series.steps[spike.first]), int(series.steps[spike.first] - series.steps[spike.first - 1])
    if any(step - 2 * gap <= event.step <= step + gap for event in run.events_of("resume")):
        return True
    if task_changed(run, step) or weights_put_back(run, step):
        return True
    return learning_rate(run, step + gap) > limits.raised * learning_rate(run, step - 4 * gap, step - 2 * gap)
