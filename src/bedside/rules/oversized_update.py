"""Steps so large that they replace the weights instead of improving them.

## What it sees
The optimizer's steps are a large part of the weights themselves, and the loss pays for it: it jumps, never comes back
below where it was, or overflows.

## Why it matters
A network is trained by many small corrections. A few steps as long as the weights throw away the initialisation (or
what was learned) and leave saturated or dead units behind, from which a smaller learning rate cannot return.

## How it decides
Four patterns in ‖update‖ / ‖weights before it‖, each judged together with the fate of the loss or of the units:

- a burst: steps above `large`, one after the other, that add up to more than `replaced`;
- no end: above `sustained` at the median of the last quarter of the run;
- at the cost of units: steps above `sustained` add up to more than `replaced` while most units of a layer die;
- in one module or bare parameter: the same as a burst, in its first steps, at `times_the_rest` the steps of the whole
  network, unless it began at next to nothing and had to grow, or is a bias, which may belong near zero.

It is an error when the loss did not come back below its level before; a warning when it jumped to more than `jump`
times that level and then recovered, or has not `halved` since, or when units died; a note when a burst did no visible
harm. After a burst a loss that still falls by `doubling` whenever the steps double may yet halve, and is left alone. A
burst that one wild gradient caused is left to exploding-gradient. A burst is dated from where the steps rose above
`sustained` and did not come back. Healthy first steps reach 0.15 (RMSprop and Adagrad, whose memory is empty then).

## When it is wrong
Weights that weight decay has shrunk to nothing (shrinking-weights): any step is large against them. First steps of
weights that began at zero are left out where that is known (a watched run). Scale-free layers (before a normalisation)
survive large steps.

## What to try
1. The learning rate at which the first steps move the weights by 1 %, the upper end of what healthy runs do.
2. Warm-up over the first 5 % of the steps.
3. A smaller initialisation gain, if gradients are huge from the first step on.

## Example
>>> from bedside.testing import a_run
>>> ratio = [0.99, 0.4, 0.3, 0.2, 0.15] + [0.01] * 95
>>> run = a_run(loss=[2.3, 90, 70, 50, 20] + [2.4] * 95, lr=1.0, relative_update_norm=ratio)
>>> print(*oversized_update.check(run))
UPD101 oversized-update: Steps of up to 7 times the weights from step 0 on (learning rate 1): the loss went from 2.3 \
to 2.4.

## References
- Smith (2017), Cyclical learning rates for training neural networks.
- Goyal et al. (2017), Accurate, large minibatch SGD: warm-up.
- Kaplan et al. (2020), Scaling laws for neural language models: the loss as a power of the data seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bedside.analysis.initial_weights import began_at_zero
from bedside.analysis.leaf_modules import leaves
from bedside.analysis.loss_after import loss_after
from bedside.analysis.losses import require_meant_to_fall
from bedside.analysis.outside_changes import outside_changes
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.record.vocabulary import (
    DEAD_FRACTION,
    GRAD_NORM,
    LOSS,
    LR,
    PARAM_NORM,
    RELATIVE_UPDATE,
    UPDATE_NORM,
)
from bedside.rules.advice import LEARNING_RATE, learning_rate, moment, new_learning_rate, one_digit, warm_up
from bedside.rules.base import rule
from bedside.rules.what_was_seen import first_loss_too_high, gradients_summed
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    large: float = 0.1  # of the weights in one step; the usual advice is 1e-3, and 1e-2 is the edge
    replaced: float = 1.0  # added up: steps as long as the weights themselves; healthy bursts add up to 0.3
    sustained: float = 0.03  # for good; 37 healthy nets stay below 0.013 after their first quarter
    first_target: float = 0.01  # of the weights: the most that healthy first steps do, and what is prescribed
    target: float = 1e-3  # of the weights: what most healthy runs do later on
    jump: float = 2.0  # of the loss: no noise doubles a median of three
    recovered: float = 0.95  # of the level before: an improvement one can see
    halved: float = 0.5  # of the level before: a run that gets there is doing something right
    doubling: float = 0.05  # of the loss, lower for twice the steps; language models win 7 % (Kaplan et al. 2020)
    steps: int = 3  # of a burst: one long first step often leads somewhere good
    wild: float = 10.0  # gradient norm over its usual: the batch, not the learning rate
    recent: int = 5  # readings right before a burst
    first_readings: int = 50  # of one module: what replaces it does so at the start
    times_the_rest: float = 5.0  # the steps of the whole network: less is the whole network's matter
    began: float = 0.3  # of its first step: gates, scales and codes that begin near zero grow by their own size at once
    grown: float = 1.2  # times the norm after its first step: what grows from nothing goes on growing
    dead: float = 0.8  # of the units of a layer, as in dead-units
    readings: int = 20  # of the loss after a burst: time to come back


@dataclass(frozen=True)
class Burst:
    first: int  # step
    last: int
    steps: int
    largest: float
    total: float
    target: float  # what these steps should have been
    began: int  # step from which on they were more than healthy, on the way up
    over: bool = True  # a loss that still falls has left them behind


@rule("UPD101", severity=Severity.ERROR, needs=[RELATIVE_UPDATE, LOSS], limits=Limits())
def oversized_update(run: Run, limits: Limits) -> Iterator[Finding]:
    require_meant_to_fall(run)
    ratios = _without(run.series(RELATIVE_UPDATE.name).finite(), {each.step for each in outside_changes(run)})
    if len(ratios) < 2:
        raise NotEnough("2 readings of relative_update_norm")
    against = _against_weights_before(ratios.values)
    burst = _burst(run, ratios, against, limits)
    found = (
        _judge(run, burst, limits, f"Steps of up to {number(burst.largest, 2)} times the weights") if burst else None
    )
    endless = _endless(run, ratios, against, limits)
    if endless and (found is None or found.severity == Severity.NOTE):
        again = _judge(
            run, endless, limits, f"Steps of {number(endless.largest, 2)} times the weights, again and again"
        )
        if again and again.severity > Severity.NOTE:  # with a falling loss the layers do not mind large steps
            found = again
    if found is None or found.severity == Severity.NOTE:
        found = _units_died(run, ratios, against, limits) or _one_module(run, limits) or found
    if found:
        yield found


def _one_module(run: Run, limits: Limits) -> Finding | None:
    """The steps of one module or bare parameter that replaced it, while those of the whole network were moderate."""
    whole = run.series(RELATIVE_UPDATE.name).finite()
    worst: tuple[float, Series, Burst] | None = None
    for leaf in leaves(run, RELATIVE_UPDATE):
        ratios = leaf.finite().head(limits.first_readings)
        if len(ratios) < limits.steps or _at_home_near_zero(leaf.owner) or _grew_from_nothing(run, leaf.owner, limits):
            continue
        against = _against_weights_before(ratios.values)
        large = np.flatnonzero(against > limits.large)
        total = float(against[large].sum())
        if len(large) < limits.steps or total < limits.replaced or (worst and total <= worst[0]):
            continue
        first, last = int(ratios.steps[large[0]]), int(ratios.steps[large[-1]])
        usual = whole.since(first).before(last + 1).median()
        if float(np.median(against[large])) > limits.times_the_rest * usual:
            largest = float(against[large].max())
            worst = total, leaf, Burst(first, last, len(large), largest, total, limits.first_target, first)
    if worst is None:
        return None
    _, leaf, burst = worst
    return _judge(
        run, burst, limits, f"Steps of up to {number(burst.largest, 2)} times `{leaf.owner}` itself", leaf.owner
    )


def _at_home_near_zero(owner: str) -> bool:
    """A bias may be right at zero, and the closer it gets, the larger is any step against it."""
    return owner.rpartition(".")[2] == "bias"


def _grew_from_nothing(run: Run, owner: str, limits: Limits) -> bool:
    """Whether it began at next to nothing: any step is large against a gate or an embedding that starts at zero."""
    norm, step = run.series(PARAM_NORM.name, owner).finite(), run.series(UPDATE_NORM.name, owner).finite()
    if not norm or not step:
        return True
    first, stride = float(norm.values[0]), float(step.values[0])
    return abs(first - stride) < limits.began * stride and norm.head(limits.first_readings).last > limits.grown * first


def _without(series: Series, steps: set[int]) -> Series:
    """The readings of other steps than these."""
    kept = ~np.isin(series.steps, sorted(steps))
    return Series(series.vital, series.owner, series.steps[kept], series.values[kept])


def _against_weights_before(ratio: Values) -> Values:
    """The record divides by the weights after the step; a step at right angles to them makes those the longer."""
    return np.where(ratio < 1, ratio / np.sqrt(np.maximum(1 - ratio**2, 1e-6)), ratio)


def _burst(run: Run, ratios: Series, against: Values, limits: Limits) -> Burst | None:
    """The first stretch of large steps that together replace the weights."""
    edges = np.flatnonzero(np.diff(np.r_[False, against > limits.large, False].astype(int)))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        if against[start:stop].sum() < limits.replaced:
            continue
        first, last = int(ratios.steps[start]), int(ratios.steps[stop - 1])
        if start == 0 and began_at_zero(run):
            continue
        if not _one_wild_gradient(run, first, limits) and not _weights_are_gone(run, last):
            largest, total = float(against[start:stop].max()), float(against[start:stop].sum())
            began = int(ratios.steps[_rose(against[: start + 1], limits.sustained)])
            return Burst(first, last, int(stop - start), largest, total, limits.first_target, began)
    return None


def _endless(run: Run, ratios: Series, against: Values, limits: Limits) -> Burst | None:
    """Large steps that never became smaller."""
    last_quarter = spread_evenly(Series(ratios.vital, "", ratios.steps, against), 0.75).values
    usual = float(np.median(last_quarter))
    if usual <= limits.sustained or len(last_quarter) < limits.readings or _weights_are_gone(run, ratios.last_step):
        return None
    if began_at_zero(run):
        return None
    above = np.flatnonzero(against > limits.sustained)
    first, total = int(ratios.steps[above[0]]), usual * len(above)
    return Burst(first, ratios.last_step, len(above), usual, total, limits.target, first, over=False)


def _units_died(run: Run, ratios: Series, against: Values, limits: Limits) -> Finding | None:
    """Large steps that replaced the weights while most units of a layer died; the loss may fall all the same."""
    shares = {s.owner: s.median(limits.recent) for s in run.of(DEAD_FRACTION.name) if s}
    worst = max(shares, key=lambda owner: shares[owner], default="")
    if not worst or shares[worst] <= limits.dead:
        return None
    dead = run.series(DEAD_FRACTION.name, worst)
    died = int(dead.steps[int(np.argmax(dead.values > shares[worst] / 2))])
    until = against[ratios.steps <= died]
    large = np.flatnonzero(until > limits.sustained)
    total = float(until[large].sum())
    if total < limits.replaced or _weights_are_gone(run, died) or began_at_zero(run):
        return None
    first, largest = int(ratios.steps[large[0]]), float(until[large].max())
    return _finding(
        run,
        Burst(first, died, len(large), largest, total, limits.first_target, first),
        f"Steps of up to {number(largest, 2)} times the weights",
        f"they replaced the weights {number(total, 2)} times over by {moment(run, died)}, and "
        f"{percent(shares[worst])} of the units of `{worst}` died",
        Severity.WARNING,
        {"dead_share": shares[worst]},
    )


def _rose(against: Values, level: float) -> int:
    """Index from which on the steps, but for a lone one, stayed above `level`; the last index if they did not."""
    low = against <= level
    lasting = np.flatnonzero(low[1:] & low[:-1]) + 1
    return min(len(against) - 1, int(lasting[-1]) + 1 if len(lasting) else int(low[0]))


def _one_wild_gradient(run: Run, first: int, limits: Limits) -> bool:
    norms = run.series(GRAD_NORM.name).finite()
    before, at = norms.before(first), norms.since(first).head(1)
    if len(before) < limits.readings or not at:
        return False
    usual = max(before.median(), before.median(limits.recent))  # a norm that climbed there is not one batch's doing
    return at.last > limits.wild * usual


def _weights_are_gone(run: Run, step: int) -> bool:
    """Whether the weights had shrunk below half of what they were: then it is they who are too small."""
    norms = run.series(PARAM_NORM.name).finite().before(step + 1)
    return len(norms) > 1 and norms.last < 0.5 * float(norms.values[0])


def _judge(run: Run, burst: Burst, limits: Limits, what: str, owner: str = "") -> Finding | None:
    fate_of_loss = loss_after(
        run.loss, burst.first, time_to_recover=limits.readings, recent=limits.recent, came_down=limits.halved
    )
    if fate_of_loss is None or (not fate_of_loss.overflowed and fate_of_loss.readings < limits.readings):
        return None
    level, peak, end, overflowed = fate_of_loss.level, fate_of_loss.peak, fate_of_loss.end, fate_of_loss.overflowed
    jumped = peak > level + (limits.jump - 1) * abs(level)
    lost = overflowed or end > level - (1 - limits.recovered) * abs(level)
    if lost:
        severity, fate = Severity.ERROR, f"went from {number(level)} to " + ("NaN" if overflowed else number(end))
    elif jumped:
        severity, fate = Severity.WARNING, f"jumped from {number(level)} to {number(peak)} before it came back"
    elif burst.steps < limits.steps:
        return None
    elif end > level - (1 - limits.halved) * abs(level) and not (
        burst.over and fate_of_loss.falls_by_doubling > limits.doubling
    ):
        severity, fate = Severity.WARNING, f"only came from {number(level)} to {number(end)}"
    else:
        severity, fate = Severity.NOTE, "did not suffer visibly"
    levels = {"loss_before": level, "loss_peak": peak, "loss_at_end": end}
    return _finding(
        run,
        burst,
        what,
        f"the loss {fate}",
        severity,
        levels,
        sure=lost and burst.total > 3 * limits.replaced,
        owner=owner,
    )


def _finding(
    run: Run,
    burst: Burst,
    what: str,
    fate: str,
    severity: Severity,
    facts: Mapping[str, float],
    *,
    sure: bool = False,
    owner: str = "",
) -> Finding:
    old = learning_rate(run, burst.first)
    new = old * burst.target / burst.largest
    lower = new_learning_rate(old, new) if new > 0 else Advice("Lower the learning rate 100-fold.", LEARNING_RATE, -1)
    rate = f" (learning rate {number(old)})" if math.isfinite(old) else ""
    return oversized_update.finding(
        f"{what} from {moment(run, burst.began)} on{rate}: {fate}.",
        first_step=burst.began,
        last_step=burst.last,
        confidence=0.95 if sure else 0.8,
        where=[owner] if owner else (),
        evidence={"largest": burst.largest, "total": burst.total, **facts, "learning_rate": old},
        series=[f"{RELATIVE_UPDATE.name}/{owner}" if owner else RELATIVE_UPDATE.name, LOSS.name, LR.name],
        could_also_be=(first_loss_too_high(run), gradients_summed(run)),
        try_=(
            f"Give `{owner}` a parameter group of its own, with a learning rate of about "
            f"{number(one_digit(new))} instead of {number(old)}, and start it near the size it will have."
            if owner and new > 0
            else lower
            if severity > Severity.NOTE
            else "",  # nothing suffered: a gentler start may help, a smaller step for the whole run need not
            warm_up(run),
        ),
        severity=severity,
    )
