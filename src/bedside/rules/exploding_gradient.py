"""The gradient grows by orders of magnitude against its own past, and the loss suffers for it.

## What it sees
Gradient norms a hundred times what they were before, for good or again and again, together with a loss that rises.

## Why it matters
A step along such a gradient throws the weights out of the basin they were in. Unclipped, the next gradient is larger
still, and the run ends in NaN.

## How it decides
A reading is hot when it is `factor` times the median of all readings before it (no absolute number: healthy runs have
norms of 1e5). Hot readings count when they last to the end, come `again` and again, or ruin the loss for good; and only
if the loss after them is worse than before by more than its noise. A lone spike that the loss shrugs off is normal,
one that it recovers from is left to loss-spike, one that comes with inputs of another shape is another task's, and
slow growth (tenfold while the learning rate decays) is normal.
Readings that are `monstrous` times the median before them, or not finite, are not lone spikes when they make `often` of
all: clipped or skipped, they harm slowly, and count whatever the loss says.

The first readings have no past. There it counts when they leap to `monstrous` times the very first, the loss with them,
and `some` readings of the loss stay `factor` times above its first; or when the outputs themselves are too large: the
first loss is `loud` times that of a blind guess, as outputs of that size make it, and the loss then spends `some` steps
and `long` of the run above a guess, or `some` steps after a start that was `absurd`.

## When it is wrong
A model that is meant to begin with extreme answers.

## What to try
1. Clip at the norm that was usual before.
2. Lower the learning rate, or warm it up for longer, if it began at the peak of the schedule.
3. Look at the batch of that step, if it began out of the blue.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[1.0] * 80 + [6.0] * 20, grad_norm=[2.0] * 80 + [900.0] * 20)
>>> print(*exploding_gradient.check(run))
GRD102 exploding-gradient: The gradient norm grew 450-fold, from 2 to 900, from step 80 on; the loss went from 1 to 6.

## References
- Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.analysis.chance_levels import VARIANCE, known_chance
from bedside.analysis.leaf_modules import leaves
from bedside.analysis.losses import judged_loss, meant_to_fall, training_loss
from bedside.analysis.near_task_change import task_changed
from bedside.analysis.statistics import median, noise_level, outline
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.record.vocabulary import ACTIVATION_RMS, GRAD_NORM, LOSS, LR
from bedside.rules.advice import clip_gradient, lower_learning_rate, moment, one_digit
from bedside.rules.base import rule
from bedside.rules.what_was_seen import batch_was_unusual, inputs_not_normalised, outputs_leap, rate_was_at_its_peak
from bedside.wording import listed, number, percent


@dataclass(frozen=True)
class Limits:
    factor: float = 100.0  # over the usual: tenfold growth is normal late in training, and so are lone spikes of 30
    past: int = 10  # readings that make a past
    again: int = 3  # separate bursts: neither chance nor one bad batch
    worse: float = 0.2  # of the loss before, at least, besides five times its noise
    around: int = 10  # readings of the loss on either side of an onset
    monstrous: float = 1e4  # times the usual: beyond any batch; spikes that runs shrug off are within 200
    often: float = 0.05  # of the readings: a loss scaler that searches its scale skips one in a thousand
    loud: float = 10.0  # times chance: healthy first losses, on raw inputs too, are within 4
    long: float = 0.25  # of the run: what it takes to learn less than nothing
    absurd: float = 100.0  # times chance: an embedding of unit size tied to the head, a common slip, begins at 10 to 50
    some: int = 20  # readings above chance: the first steps were spent on undoing the start; a blip is over sooner
    outputs: float = 0.2  # of the first loss: cross-entropy is a few times its logits, a squared error their square


@dataclass(frozen=True)
class Burst:
    start: int  # index of the first hot reading
    stop: int  # index after the last one


_OTHER_BATCHES = "Batches of another kind that come now and then: look at the batch of one such step."


@rule("GRD102", severity=Severity.ERROR, needs=[GRAD_NORM], limits=Limits())
def exploding_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = run.series(GRAD_NORM.name)
    if len(norms.finite()) < limits.past + 2:
        raise NotEnough(f"{limits.past + 2} readings of grad_norm, has {len(norms.finite())}")
    usual = _median_so_far(norms.values)
    with np.errstate(invalid="ignore"):
        hot = norms.values > limits.factor * usual
    hot[: limits.past] = False
    bursts = _bursts(hot, np.isfinite(norms.values))
    loss = judged_loss(run)
    own = [burst for burst in bursts if not task_changed(run, int(norms.steps[burst.start]))]
    falls = meant_to_fall(run) or not np.isfinite(loss.values).all()
    felt = [burst for burst in own if falls and _loss_is_worse(loss, int(norms.steps[burst.start]), limits)]
    if not felt:
        early = _by_the_first_steps(run, norms, limits) or _from_the_start(run, norms, limits)
        yield from _again_and_again(run, norms, usual, limits) or early
        return
    last = felt[-1]
    ruinous = [burst for burst in felt if not _loss_recovers(loss, int(norms.steps[burst.start]), limits)]
    if not ruinous and last.stop == len(norms) and last.stop - last.start >= 2:
        ruinous = [last]
    if ruinous:
        stays = Burst(ruinous[0].start, max(ruinous[-1].stop, last.stop))
        yield _finding(run, norms, usual, stays, loss, for_good=True, bursts=len(felt))
    elif len(felt) >= limits.again:
        yield _finding(run, norms, usual, felt[0], loss, for_good=False, bursts=len(felt))


def _again_and_again(run: Run, norms: Series, usual: Values, limits: Limits) -> list[Finding]:
    """Readings beyond all measure in a good part of the run, however little the loss shows of it."""
    with np.errstate(invalid="ignore"):
        # Beside gradients that have died away, an ordinary one is monstrous: it must tower over the first ones too.
        floor = limits.factor * float(np.median(norms.finite().values[: limits.past]))
        wild = ~np.isfinite(norms.values) | (norms.values > np.maximum(limits.monstrous * usual, floor))
    wild[: limits.past] = False
    bad = ~np.isfinite(norms.values)
    if wild.mean() < limits.often or not (wild & ~bad).any() or wild.sum() < limits.again:
        return []  # not finite and nothing else: left to nonfinite-gradient
    first, calm = int(norms.steps[int(np.argmax(wild))]), float(np.nanmedian(usual))
    largest = float(norms.values[wild & ~bad].max())
    infinite = f", and not finite at {int((wild & bad).sum())}" if (wild & bad).any() else ""
    return [
        exploding_gradient.finding(
            f"The gradient norm is {number(limits.monstrous)} times its usual {number(calm)} or more at "
            f"{int((wild & ~bad).sum())} of {len(norms)} readings since {moment(run, first)} (up to "
            f"{number(largest, 2)}){infinite}.",
            first_step=first,
            last_step=norms.last_step,
            confidence=0.85,
            evidence={"usual": calm, "wild": largest, "growth": largest / calm, "share": float(wild.mean())},
            series=[GRAD_NORM.name, LOSS.name, LR.name],
            could_also_be=(batch_was_unusual(run, first, otherwise=_OTHER_BATCHES),),
            try_=(
                f"Clip at the norm that is usual: clip_grad_norm_(model.parameters(), {number(one_digit(calm))}).",
                lower_learning_rate(run, first),
            ),
            severity=Severity.WARNING,
        )
    ]


def _by_the_first_steps(run: Run, norms: Series, limits: Limits) -> list[Finding]:
    """The very first steps threw gradient and loss beyond all measure, and the loss took long to come back."""
    early, loss = norms.finite().head(limits.past), training_loss(run).finite()
    if (
        not meant_to_fall(run)
        or not loss
        or loss.values[0] <= 0
        or early.values[0] <= 0
        or loss.first_step > early.first_step
    ):
        return []
    place = int(np.argmax(early.values))
    step = int(early.steps[place])
    thrown = loss.before(step + limits.around)
    above = loss.values > limits.factor * loss.values[0]
    far = min(float(early.values[place]) / early.values[0], float(thrown.values.max()) / loss.values[0])
    if far < limits.monstrous or above.sum() < limits.some:
        return []
    back = int(loss.steps[int(np.flatnonzero(above)[-1])])
    return [
        exploding_gradient.finding(
            f"The gradient norm went from {number(float(early.values[0]))} to {number(float(early.values[place]))} at "
            f"{moment(run, step)}, and the loss from {number(float(loss.values[0]))} to "
            f"{number(float(thrown.values.max()))}: the first steps threw the weights far away.",
            first_step=step,
            last_step=back,
            confidence=0.85,
            evidence={"growth": far, "first_loss": float(loss.values[0]), "now": outline(loss).now},
            series=[GRAD_NORM.name, LOSS.name, LR.name],
            could_also_be=(inputs_not_normalised(run),),
            try_=(clip_gradient(run), lower_learning_rate(run, step)),
            severity=Severity.WARNING,
        )
    ]


def _from_the_start(run: Run, norms: Series, limits: Limits) -> Iterator[Finding]:
    """Outputs, and with them gradients, that are far too large from the first step."""
    chance, loss = known_chance(run.config), training_loss(run).finite()
    sizes = run.of(ACTIVATION_RMS.name)
    if chance is None or not loss or not sizes or not sizes[-1].finite():
        return
    first, output = float(loss.values[0]), float(sizes[-1].finite().values[0])
    above = loss.values > chance.level
    made = output**2 if chance.what == VARIANCE else output  # what outputs of that size cost at most
    if first < limits.loud * chance.level or made < limits.outputs * first:
        return
    absurd = first > limits.absurd * chance.level
    if above.sum() < limits.some or not (absurd or above.mean() >= limits.long):
        return
    early, now = float(np.median(norms.finite().values[: limits.around])), norms.median(limits.around)
    where = _steepest(run, norms.first_step)
    place = f", most of all in {listed(f'`{name}`' for name in where)}" if where else ""
    yield exploding_gradient.finding(
        f"Outputs of {number(output, 2)} and a gradient norm of {number(early, 2)}{place} from the first step on: the "
        f"loss began at {number(first)}, where a blind guess has {number(chance.level)}, and was above that for "
        f"{percent(float(above.mean()))} of the run.",
        first_step=norms.first_step,
        last_step=int(loss.steps[int(np.flatnonzero(above)[-1])]),
        confidence=0.85,
        where=where,
        evidence={"first_loss": first, "chance": chance.level, "output": output, "gradient": [early, now]},
        series=[GRAD_NORM.name, LOSS.name, sizes[-1].key],
        could_also_be=(inputs_not_normalised(run),),
        try_=(
            f"Start smaller, until the first loss is near {number(chance.level)}: scales at one, weights as nn.Linear "
            "makes them, residual branches at zero.",
            outputs_leap(run),
        ),
        severity=Severity.WARNING,
    )


def _median_so_far(values: Values) -> Values:
    """The median of the finite readings before each one; renewed whenever there is an eighth more of them."""
    finite = np.flatnonzero(np.isfinite(values))
    medians = np.full(len(values), np.nan)
    seen = 1
    while seen <= len(finite):
        medians[finite[seen - 1] + 1 :] = median(values[finite[:seen]])  # later renewals overwrite the rest
        seen = int(seen * 1.125) + 1
    return medians


def _bursts(hot: NDArray[np.bool_], finite: NDArray[np.bool_]) -> list[Burst]:
    """Stretches of hot readings; those that are not finite continue a stretch but never begin one."""
    bursts: list[Burst] = []
    index = 0
    while index < len(hot):
        if not hot[index] or not finite[index]:
            index += 1
            continue
        start = index
        while index < len(hot) and (hot[index] or not finite[index]):
            index += 1
        bursts.append(Burst(start, index))
    return bursts


def _loss_is_worse(loss: Series, step: int, limits: Limits) -> bool:
    """Whether the loss right after `step` is worse than right before, by more than its noise."""
    before, after = loss.before(step + 1).tail(limits.around), loss.since(step + 1).head(limits.around)
    if not len(before.finite()) or not len(after):
        return False
    if not np.isfinite(after.values).all():
        return True
    level = before.median()
    margin = max(limits.worse * abs(level), 5 * noise_level(loss.before(step + 1).finite().values))
    few = np.sort(after.values)[len(after) // 2 :]  # it may come back within these readings
    return float(np.median(few)) > level + margin


def _loss_recovers(loss: Series, step: int, limits: Limits) -> bool:
    before, after = loss.before(step + 1).finite().tail(limits.around), loss.since(step + 1)
    if not np.isfinite(after.values[-limits.around :]).all():
        return False
    level = before.median()
    margin = max(limits.worse * abs(level), 5 * noise_level(loss.before(step + 1).finite().values))
    return after.median(limits.around) <= level + margin


def _finding(
    run: Run, norms: Series, usual: Values, burst: Burst, loss: Series, *, for_good: bool, bursts: int
) -> Finding:
    first = int(norms.steps[burst.start])
    calm = float(usual[burst.start])
    heat = norms.values[burst.start : burst.stop]
    wild = float(heat[np.isfinite(heat)].max())
    before = loss.before(first + 1).median(10)
    after = loss.since(first + 1).median()
    overflowed = not np.isfinite(loss.since(first + 1).values).all()
    when = f"from {moment(run, first)} on" if for_good else f"{bursts} times since {moment(run, first)}"
    where = _steepest(run, first)
    place = f", most of all in {listed(f'`{name}`' for name in where)}" if where else ""
    return exploding_gradient.finding(
        f"The gradient norm grew {number(wild / calm, 2)}-fold, from {number(calm)} to {number(wild)}, {when}{place}; "
        f"the loss went from {number(before)} to {'NaN' if overflowed else number(after)}.",
        first_step=first,
        last_step=int(norms.steps[burst.stop - 1]) if for_good else norms.last_step,
        confidence=0.95 if burst.stop - burst.start >= 3 or overflowed else 0.8,
        where=where,
        evidence={"usual": calm, "wild": wild, "growth": wild / calm, "bursts": bursts, "loss": [before, after]},
        series=[GRAD_NORM.name, LOSS.name, LR.name],
        could_also_be=(
            batch_was_unusual(run, first, f"A bad batch at {moment(run, first)}: repeat the step without it."),
            rate_was_at_its_peak(run, first),
        ),
        try_=(
            clip_gradient(run, at=calm),
            lower_learning_rate(run, first),
        ),
        severity=Severity.ERROR if for_good else Severity.WARNING,
    )


def _steepest(run: Run, first: int) -> list[str]:
    """The one leaf that makes most of the norm at that step, if there is one."""
    squares = {s.owner: at.last**2 for s in leaves(run, GRAD_NORM) if len(at := s.since(first).head(1))}
    total = math.fsum(squares.values()) if all(map(math.isfinite, squares.values())) else math.nan
    return [owner for owner, square in squares.items() if square > 0.5 * total]
