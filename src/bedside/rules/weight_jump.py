"""The weights jumped: from one step to the next they changed as the optimizer never changed them before.

## What it sees
A sudden change of the weights, of the whole model or of single layers, that is not the optimizer's doing or far outside
the run's own habit.

## Why it matters
Weights move by small steps. A jump is one huge step, a re-initialised layer, a checkpoint loaded in mid-run, or an
edit by hand; what was learned may be gone with it.

## How it decides
First by what no step can do: the norm of a layer changed by more than the step was long, or the step was many times
longer than any before it though the gradient it should have followed was not. At most `once` in a run: what happens
often is done on purpose, unless it cannot be: weights that are replaced `often` (they move by a good part of their size
where steps are short), or that climb `often`, along the gradient and further than the step itself, while the loss keeps
`kept` of its start. Otherwise, after the first `start` of the run, a change of more than `large` of the whole
norm between neighbouring readings, beyond how far they drifted `lately`, and `habit` times the usual change. Jumps at
a resume, and where another optimizer or another task begins, are expected. It is a warning when the loss suffers, a
note when it does not.

## When it is wrong
Methods that change weights on purpose: pruning, growing, averaging, resetting layers.

## What to try
1. Look for code that loads, resets, scales or averages weights at that step; `model.apply(init)` inside the loop;
   a perturbation (SAM, adversarial weights) that is not taken back before the step.
2. Go back to a checkpoint from before it.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[1.0] * 100 + [3.0] * 100, param_norm=[10 + 0.001 * k for k in range(100)] + [17.0] * 100)
>>> print(*weight_jump.check(run))
WGT103 weight-jump: The weights jumped from 10.1 to 17 at step 100, and the loss went from 1 to 3.

## References
- Chowdhery et al. (2022), PaLM: loss spikes, and restarting from before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves, places
from bedside.analysis.losses import meant_to_fall
from bedside.analysis.near_task_change import task_changed
from bedside.analysis.outside_changes import OutsideChange, outside_changes
from bedside.analysis.outside_moves import climbs, replacements
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, LOSS, OUTSIDE_MOVE, OWN_MOVE, PARAM_NORM
from bedside.rules.advice import go_back, moment
from bedside.rules.base import rule
from bedside.wording import count, listed, number, percent


@dataclass(frozen=True)
class Limits:
    large: float = 0.1  # of the norm in one step; see oversized-update
    habit: float = 30.0  # times the usual change
    lately: int = 3  # readings before it, which show how fast the weights drift
    start: float = 0.1  # of the run, left out: first steps are large
    worse: float = 0.2  # of the loss before: it suffered
    readings: int = 50  # the usual change is their median
    once: int = 3  # times in a run: pruning, weight clipping and averaging come again and again
    often: int = 5  # times: weights that are initialised anew, or that climb, every time
    kept: float = 0.5  # of the loss at the start: a run that learns all the same knows what it does
    around: int = 10  # readings of the loss on either side


@rule("WGT103", severity=Severity.WARNING, needs=[PARAM_NORM], limits=Limits())
def weight_jump(run: Run, limits: Limits) -> Iterator[Finding]:
    if again := _again_and_again(run, limits):
        yield again
        return
    norms = run.series(PARAM_NORM.name).finite()
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of param_norm, has {len(norms)}")
    outside = outside_changes(run)
    if 0 < len(outside) <= limits.once:
        yield _from_outside(
            run, max(outside, key=lambda each: _worse(run, _felt(run, each, limits), limits)[0]), limits
        )
        return
    at = _jump(run, norms, limits)
    if at is None or outside:
        return
    step = int(norms.steps[at])
    everyone = leaves(run, PARAM_NORM)
    jumped = [s.owner for s in everyone if len(s) == len(run.series(PARAM_NORM.name)) and _changed(s, step, limits)]
    where = places(jumped, of=[s.owner for s in everyone]) if len(jumped) < len(everyone) else []
    place = f" in {listed(f'`{name}`' for name in where)}" if where else ""
    yield _finding(
        run,
        step,
        where,
        f"The weights{place} jumped from {number(norms.values[at - 1])} to {number(norms.values[at])}",
        {"before": float(norms.values[at - 1]), "after": float(norms.values[at]), "outside": False},
        limits,
    )


def _again_and_again(run: Run, limits: Limits) -> Finding | None:
    """Weights that are replaced, or pushed uphill, all the time."""
    for moves, climb in ((replacements(run), False), (climbs(run), True)):
        if len(moves) < limits.often:
            continue
        first, middle = moves[0], sorted(moves, key=lambda each: each.share)[len(moves) // 2]
        size = f"by {percent(middle.share)} of their size, {number(middle.times, 2)} times the length of a step"
        if climb:
            what = "Something other than the optimizer moves the weights up the gradient between steps"
            remedy = "Take the perturbation (SAM, FGM, adversarial weights) back before optimizer.step()."
        else:
            what = "The weights are replaced again and again by something other than the optimizer"
            remedy = "Look for what initialises or loads weights inside the loop: it belongs before it."
        losses = run.loss.finite()
        suffers = meant_to_fall(run) and losses.tail(limits.around).median() > limits.kept * losses.values[0]
        return weight_jump.finding(
            f"{what}: {count(len(moves))} times, first at {moment(run, first.step)}, {size}"
            f"{'' if suffers else ', which the loss did not mind'}.",
            first_step=first.since,
            last_step=moves[-1].step,
            confidence=0.95,
            evidence={"times": len(moves), "share": middle.share, "step_lengths": middle.times, "uphill": climb},
            series=[OUTSIDE_MOVE.name, OWN_MOVE.name, LOSS.name],
            could_also_be=("Weights that are exchanged on purpose, as by training many models in turn.",),
            try_=(remedy,),
            severity=Severity.WARNING if suffers else Severity.NOTE,
        )
    return None


def _from_outside(run: Run, change: OutsideChange, limits: Limits) -> Finding:
    """Weights that something other than the optimizer's step has changed."""
    everyone = [series.owner for series in leaves(run, PARAM_NORM)]
    where = places(change.owners, of=everyone) if len(change.owners) < len(everyone) else []
    of = listed(f"`{name}`" for name in where) if where else "all layers"
    norms = run.series(PARAM_NORM.name, change.owners[0]).finite()
    before, after = norms.before(change.step).last, norms.since(change.step).head(1).last
    size = f" (`{change.owners[0]}` from {number(before)} to {number(after)})"
    what = f"were changed by something other than the optimizer's step{size}"
    if change.since < change.step:
        what = (
            f"moved further than {count(change.step - change.since + 1)} steps of the optimizer could take them{size}"
        )
    return _finding(
        run,
        _felt(run, change, limits),
        where,
        f"The weights of {of} {what}",
        {"before": before, "after": after, "outside": True, "seen": change.since == change.step},
        limits,
    )


def _felt(run: Run, change: OutsideChange, limits: Limits) -> int:
    """The step of it: where the loss leapt most, if the weights were read some steps apart."""
    losses = run.loss.finite().since(change.since).before(change.step + 1)
    if change.since == change.step or not losses or not meant_to_fall(run):
        return change.step
    return max((int(step) for step in losses.steps), key=lambda step: _worse(run, step, limits)[0])


def _worse(run: Run, step: int, limits: Limits) -> tuple[float, float, float]:
    """By what share of its level the loss went up, and its level before and after."""
    before = run.loss.before(step).finite().tail(limits.around).median()
    after = run.loss.since(step).finite().head(limits.around).median()
    by = (after - before) / abs(before) if before and meant_to_fall(run) else 0.0
    return by, before, after


def _finding(run: Run, step: int, where: list[str], what: str, evidence: dict[str, object], limits: Limits) -> Finding:
    by, before, after = _worse(run, step, limits)
    suffers = by > limits.worse
    fate = (
        f", and the loss went from {number(before)} to {number(after)}" if suffers else ", which the loss did not mind"
    )
    return weight_jump.finding(
        f"{what} at {moment(run, step)}{fate}.",
        first_step=step,
        last_step=step,
        confidence=0.9 if evidence.get("seen") else 0.8 if suffers else 0.6,
        where=where,
        evidence=evidence,
        series=[f"{PARAM_NORM.name}/{where[0]}" if where else PARAM_NORM.name, GRAD_NORM.name, LOSS.name],
        could_also_be=() if evidence.get("seen") else (_one_monstrous_step(run, step),),
        try_=(
            f"Look for what was loaded, averaged, scaled or reset at {moment(run, step)}.",
            go_back(run, step),
        ),
        severity=Severity.WARNING if suffers else Severity.NOTE,
    )


def _one_monstrous_step(run: Run, step: int) -> str:
    """What the gradient of that step says, where it was recorded."""
    norms = run.series(GRAD_NORM.name).finite()
    usual, now = norms.before(step).median(), norms.since(step).head(1)
    if not now or not usual > 0:
        return "One huge step: the gradient norm of that step is then far above the usual."
    return f"One huge step: its gradient norm was {number(now.last / usual, 2)} times the usual."


def _jump(run: Run, norms: Series, limits: Limits) -> int | None:
    values = norms.values
    change = np.abs(np.diff(values)) / np.maximum(values[:-1], 1e-30)
    usual = float(np.median(change))
    gaps = np.diff(norms.steps)
    drift = change / gaps  # per step
    early = norms.first_step + limits.start * (norms.last_step - norms.first_step)
    resumes = {event.step for event in run.events_of("resume")}
    for index in np.argsort(-change):
        if change[index] < max(limits.large, limits.habit * usual):
            break
        if norms.steps[index + 1] < early or gaps[index] > 2 * np.median(gaps):
            continue  # between readings far apart a drift looks like a jump
        lately = drift[max(0, index - limits.lately) : index]
        if len(lately) and change[index] - gaps[index] * float(np.median(lately)) < limits.large:
            continue  # as fast as before, and the readings are further apart
        if task_changed(run, int(norms.steps[index + 1])):
            continue
        if not any(int(norms.steps[index]) < step <= int(norms.steps[index + 1]) for step in resumes):
            return int(index) + 1
    return None


def _changed(series: Series, step: int, limits: Limits) -> bool:
    before, after = series.before(step).tail(1), series.since(step).head(1)
    return bool(before and after) and abs(after.last - before.last) > limits.large * max(before.last, 1e-30)
