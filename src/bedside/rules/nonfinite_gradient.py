"""The gradient becomes NaN or infinite and stays so: no step after that can learn anything.

## What it sees
A gradient norm that is NaN or infinite from some step to the end of the run.

## Why it matters
One update with a NaN gradient makes the weights NaN, and NaN weights never recover. Every step after it is wasted.

## How it decides
A finite gradient afterwards proves that the bad step was not applied (a loss scaler or a guard skipped it), so only
the readings up to the end count. One bad reading at the very end is believed when the loss is not finite either, or
when nothing shows that steps are skipped on purpose. Skipped steps that recover are how a loss scaler works,
unless so many are thrown away that the run pays for it (`wasted`), or `often` after the first
`fewest` readings, to the end.

## When it is wrong
A log that ends on a step which a scaler was about to skip.

## What to try
1. Find the operation: `torch.autograd.set_detect_anomaly(True)` a step before.
2. Gradients that grew before they overflowed: lower the learning rate, clip at their usual norm.
3. Gradients that were calm until then: a log, division, square root or exponential at the edge of its domain.

## Example
>>> from bedside.testing import a_run
>>> nan = float("nan")
>>> print(*nonfinite_gradient.check(a_run(loss=[2.0] * 60 + [nan] * 40, grad_norm=[1.3] * 60 + [nan] * 40)))
NUM102 nonfinite-gradient: The gradient norm is NaN from step 60 to the end; it was 1.3 before.

## References
- PyTorch documentation, torch.amp.GradScaler: steps with infinite gradients are skipped and the scale is lowered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.analysis.leaf_modules import leaves, places
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, LOSS, LOSS_SCALE, PARAM_NORM, SKIPPED
from bedside.rules.advice import clip_gradient, lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.wording import listed, number, percent


@dataclass(frozen=True)
class Limits:
    wasted: float = 0.2  # of the readings: a scaler at its limit skips one step in 2000, PyTorch's growth interval
    halvings: int = 16  # skips in a row that a scaler needs to come from its first scale, 65536, down to 1
    often: float = 0.05  # of the readings, in both halves of what comes after: a hundred times what a scaler skips
    settled: int = 100  # readings after the `fewest`: five bad ones of them are no chance
    fewest: int = 50  # readings before a share is judged, well above those first halvings
    grew: float = 10.0  # last finite norms over the usual: overflow by growth, not out of the blue


@rule("NUM102", severity=Severity.ERROR, needs=[GRAD_NORM], limits=Limits())
def nonfinite_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = run.series(GRAD_NORM.name)
    bad = ~np.isfinite(norms.values)
    if not bad.any():
        return
    to_the_end = _streak_at_the_end(bad)
    if to_the_end and _believed(run, norms, to_the_end, limits):
        yield _ended(run, norms, to_the_end, limits)
    elif len(norms) >= limits.fewest and (bad.mean() >= limits.wasted or _often(bad, limits)):
        yield _wasted(run, norms, bad)


def _often(bad: NDArray[np.bool_], limits: Limits) -> bool:
    """Whether steps are thrown away all the time, though a scaler has long found its scale."""
    rest = bad[limits.fewest :]
    halves = np.array_split(rest, 2)
    return len(rest) >= limits.settled and all(float(half.mean()) >= limits.often for half in halves)


def _streak_at_the_end(bad: NDArray[np.bool_]) -> int:
    """How many readings up to the last one are bad."""
    good = np.flatnonzero(~bad)
    return len(bad) - 1 - int(good[-1]) if len(good) else len(bad)


def _believed(run: Run, norms: Series, streak: int, limits: Limits) -> bool:
    first = int(norms.steps[-streak])
    skipped = run.series(SKIPPED.name).since(first)
    if skipped:
        return not skipped.values.all()  # a bad gradient was applied
    loss = run.series(LOSS.name).since(first)
    if len(loss) and not np.isfinite(loss.values).all():
        return True
    scaled = run.has(LOSS_SCALE.name) or "16" in str(run.config.get("precision", ""))
    return not scaled or streak >= limits.halvings


def _ended(run: Run, norms: Series, streak: int, limits: Limits) -> Finding:
    first = int(norms.steps[-streak])
    before = norms.before(first).finite()
    usual = before.median()
    last_good = before.median(3)
    grew = len(before) > 3 and last_good > limits.grew * usual
    what = number(float(norms.values[-streak]))
    message = f"The gradient norm is {what} from {moment(run, first)} to the end"
    if streak == 1:
        message = f"The gradient norm is {what} at {moment(run, first)}, the last one recorded"
    message += f"; it was {number(usual)} before." if before else "."
    where, born = _origin(run, first)
    if born:
        message = f"{message[:-1]}, and {born}."
    loss = run.series(LOSS.name).since(first)
    loss_bad = len(loss) > 0 and not np.isfinite(loss.values).all()
    try_ = [f"Find the operation: torch.autograd.set_detect_anomaly(True) from {moment(run, max(0, first - 1))} on."]
    smaller = lower_learning_rate(run, max(0, first - 1))
    if grew or not before:
        try_.insert(0, smaller)
        if before:
            try_.insert(1, clip_gradient(run, at=usual))
    else:
        try_.append("Look for log, sqrt, division and exp of values that reach 0 or grow large; add 1e-8 or clamp.")
        try_.append(smaller)
    return nonfinite_gradient.finding(
        message,
        first_step=first,
        last_step=norms.last_step,
        confidence=0.99 if streak >= 3 or loss_bad else 0.7,
        where=where,
        evidence={"bad_readings": streak, "usual_norm": usual, "last_finite_norm": last_good, "loss_also": loss_bad},
        series=[GRAD_NORM.name, LOSS.name],
        could_also_be=(
            "A batch with NaN or infinite inputs: check torch.isfinite(inputs).all() at that step.",
            "Overflow of float16: repeat the steps in bfloat16 or float32.",
        ),
        try_=try_,
    )


def _origin(run: Run, first: int) -> tuple[list[str], str]:
    """The modules whose weights were already bad, or else those in front of the place where the NaN was born."""
    weights = [s for s in leaves(run, PARAM_NORM) if len(b := s.before(first)) and not math.isfinite(b.last)]
    everyone = leaves(run, GRAD_NORM)
    owners = [s.owner for s in everyone]
    if weights and len(weights) < len(leaves(run, PARAM_NORM)):
        names = places([s.owner for s in weights], of=[s.owner for s in leaves(run, PARAM_NORM)])
        return names, f"the weights of {listed(f'`{name}`' for name in names)} were not finite a step earlier"
    bad = [s.owner for s in everyone if len(at := s.since(first).head(1)) and not math.isfinite(at.last)]
    if not bad or len(bad) == len(owners):
        return [], ""
    names = places(bad, of=owners)
    return names, f"only in {listed(f'`{name}`' for name in names)}"


def _wasted(run: Run, norms: Series, bad: NDArray[np.bool_]) -> Finding:
    first = int(norms.steps[np.argmax(bad)])
    share = float(bad.mean())
    return nonfinite_gradient.finding(
        f"{percent(share)} of the gradient norms since {moment(run, first)} are not finite: steps thrown away.",
        first_step=first,
        last_step=int(norms.steps[np.flatnonzero(bad)[-1]]),
        confidence=0.8,
        evidence={"share": share, "bad_readings": int(bad.sum())},
        series=[GRAD_NORM.name, LOSS_SCALE.name],
        could_also_be=("Batches with NaN or infinite values: check torch.isfinite(inputs).all() for every batch.",),
        try_=(
            "Use bfloat16 instead of float16: it needs no loss scale.",
            lower_learning_rate(run, first),
        ),
        severity=Severity.WARNING,
    )
