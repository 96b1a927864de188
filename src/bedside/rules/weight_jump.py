"""The weights jumped: from one reading to the next, their norm changed as it never had before.

## What it sees
A sudden change of the weight norm, up or down, far outside the run's own habit.

## Why it matters
Weights move by small steps. A jump is one monstrous step, a re-initialised layer, a checkpoint loaded in mid-run, or an
edit by hand; what was learned may be gone with it.

## How it decides
After the first `start` of the run, a change of more than `large` of the norm between neighbouring readings, and `habit`
times the usual change. Jumps at a resume are expected. It is a warning when the loss suffers, a note when it does not.

## When it is wrong
Methods that change weights on purpose: pruning, growing, averaging, resetting layers.

## What to try
1. Look at the gradient norm per module at that step, and at the batch.
2. Look for code that loads, resets or averages weights.

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
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, LOSS, PARAM_NORM
from bedside.rules.advice import clip_gradient, go_back, moment
from bedside.rules.base import rule
from bedside.wording import count, listed, number


@dataclass(frozen=True)
class Limits:
    large: float = 0.1  # of the norm in one step; see oversized-update
    habit: float = 30.0  # times the usual change
    start: float = 0.1  # of the run, left out: first steps are large
    worse: float = 0.2  # of the loss before: it suffered
    readings: int = 50  # the usual change is their median


@rule("WGT103", severity=Severity.WARNING, needs=[PARAM_NORM], limits=Limits(), preview_since="0.1")
def weight_jump(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = run.series(PARAM_NORM.name).finite()
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of param_norm, has {len(norms)}")
    at = _jump(run, norms, limits)
    if at is None:
        return
    step = int(norms.steps[at])
    everyone = leaves(run, PARAM_NORM)
    jumped = [s.owner for s in everyone if len(s) == len(run.series(PARAM_NORM.name)) and _changed(s, step, limits)]
    where = places(jumped, of=[s.owner for s in everyone]) if len(jumped) < len(everyone) else []
    place = f" in {listed(f'`{name}`' for name in where)}" if where else ""
    before, after = run.loss.before(step).finite().tail(10), run.loss.since(step).finite().head(10)
    suffers = bool(before and after) and after.median() > before.median() + limits.worse * abs(before.median())
    fate = f"and the loss went from {number(before.median())} to {number(after.median())}" if suffers else ""
    yield weight_jump.finding(
        f"The weights{place} jumped from {number(norms.values[at - 1])} to {number(norms.values[at])} at "
        f"{moment(run, step)}{f', {fate}' if fate else ', which the loss did not mind'}.",
        first_step=step,
        last_step=step,
        confidence=0.8 if suffers else 0.6,
        where=where,
        evidence={"before": float(norms.values[at - 1]), "after": float(norms.values[at])},
        series=[PARAM_NORM.name, GRAD_NORM.name, LOSS.name],
        could_also_be=("One monstrous step: the gradient norm of that step is then far above the usual.",),
        try_=(
            f"Look for what was loaded, averaged or reset at step {count(step)}, and at the batch of that step.",
            go_back(run, step),
            clip_gradient(run),
        ),
        severity=Severity.WARNING if suffers else Severity.NOTE,
    )


def _jump(run: Run, norms: Series, limits: Limits) -> int | None:
    values = norms.values
    change = np.abs(np.diff(values)) / np.maximum(values[:-1], 1e-30)
    usual = float(np.median(change))
    gaps = np.diff(norms.steps)
    early = norms.first_step + limits.start * (norms.last_step - norms.first_step)
    resumes = {event.step for event in run.events_of("resume")}
    for index in np.argsort(-change):
        if change[index] < max(limits.large, limits.habit * usual):
            break
        if norms.steps[index + 1] < early or gaps[index] > 2 * np.median(gaps):
            continue  # between readings far apart a drift looks like a jump
        if not any(int(norms.steps[index]) < step <= int(norms.steps[index + 1]) for step in resumes):
            return int(index) + 1
    return None


def _changed(series: Series, step: int, limits: Limits) -> bool:
    before, after = series.before(step).tail(1), series.since(step).head(1)
    return bool(before and after) and abs(after.last - before.last) > limits.large * max(before.last, 1e-30)
