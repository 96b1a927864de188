"""Gradients are clipped while they are still multiplied by the loss scale.

## What it sees
`clip_grad_norm_` was called between `scaler.scale(loss).backward()` and `scaler.step(optimizer)` without
`scaler.unscale_(optimizer)` before it.

## Why it matters
The threshold is compared with gradients that are some tens of thousands of times too large, so every step is clipped,
and after unscaling the gradient is that many times too small. And the true threshold changes whenever the scaler
changes its scale.

## How it decides
From the scaler's own state at the moment of the clip call.

## When it is wrong
A threshold that was multiplied by the scale on purpose.

## What to try
1. `scaler.unscale_(optimizer)` before `clip_grad_norm_`.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> events = [Event(0, "coverage"), Event(9, "clipped_scaled", {"first_step": 1, "count": 9, "max_norm": 1.0})]
>>> print(*clipping_scaled_gradients.check(a_run(loss=1.0, loss_scale=65536.0, events=events)))
LOP106 clipping-scaled-gradients: Gradients are clipped at 1 while scaled by 65,536: the true threshold is 1.53e-5.

## References
- PyTorch documentation, Automatic mixed precision examples: gradient clipping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.optimizers import is_scale_free
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import CLIP_RATIO, LOSS_SCALE
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    """Gradients are scaled when they are clipped or they are not: nothing to set."""


@rule("LOP106", severity=Severity.ERROR, needs=[], limits=Limits())
def clipping_scaled_gradients(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the order of unscaling and clipping (a watched run)")
    events = run.events_of("clipped_scaled")
    if not events:
        return
    data = events[-1].data
    scale = run.series(LOSS_SCALE.name).median()
    true = data["max_norm"] / scale if scale > 0 else float("nan")
    known = (
        f" while scaled by {number(scale)}: the true threshold is {number(true)}." if scale > 0 else " while scaled."
    )
    # Adam and its kin divide the gradient's size out again; what remains is a threshold that moves with the scale.
    mild = is_scale_free(run)
    yield clipping_scaled_gradients.finding(
        f"Gradients are clipped at {number(data['max_norm'])}{known}",
        severity=Severity.WARNING if mild else None,
        first_step=data["first_step"],
        last_step=events[-1].step,
        confidence=0.97,
        evidence={"clip_calls": data["count"], "max_norm": data["max_norm"], "loss_scale": scale},
        series=[CLIP_RATIO.name, LOSS_SCALE.name],
        try_=("Call scaler.unscale_(optimizer) before clip_grad_norm_(…).",),
    )
