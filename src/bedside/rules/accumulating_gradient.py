"""Gradients are never cleared, so that every step repeats all the steps before it.

## What it sees
When a step's first backward begins, the gradients of the step before are still there.

## Why it matters
`backward()` adds to what it finds. Without `zero_grad()` the gradient is the sum over the whole past: it grows with the
number of steps, points where the loss was steep long ago, and acts like momentum without any forgetting. Adam hides
the growth, so the loss may even fall for a while.

## How it decides
It looks at the gradients themselves, after a step and before the next backward. Accumulating over micro-batches is
clearing too: it happens between two backward passes of one step, which is not looked at. `often` of the steps is
enough: clearing every fourth step while stepping at each is the same fault.

## When it is wrong
Loops that add a decayed part of the last gradient on purpose.

## What to try
1. Call `optimizer.zero_grad()` before `loss.backward()`, at every step.
2. For gradient accumulation, call `optimizer.step()` and `optimizer.zero_grad()` together, every n micro-batches.

## Example
>>> from bedside.testing import a_run
>>> print(*accumulating_gradient.check(a_run(loss=[2.3] * 200, grads_not_zeroed=1.0)))
GRD107 accumulating-gradient: At all 200 steps looked at, the gradient still held that of the step before: nothing \
clears it.

## References
- PyTorch documentation, torch.Tensor.backward: gradients are accumulated in the leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM, GRADS_NOT_ZEROED, LOSS
from bedside.rules.base import rule
from bedside.wording import count


@dataclass(frozen=True)
class Limits:
    often: float = 0.4  # of the steps: clearing at every second step leaves a half; an odd step is a restart
    readings: int = 10  # a step or two without clearing may be a warm-up of the loop


@rule("GRD107", severity=Severity.ERROR, needs=[GRADS_NOT_ZEROED], limits=Limits())
def accumulating_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    seen = run.series(GRADS_NOT_ZEROED.name).finite()
    if len(seen) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grads_not_zeroed, has {len(seen)}")
    kept = seen.values > 0.5
    share = float(kept.mean())
    if share < limits.often:
        return
    every = "nothing clears it" if kept.all() else f"it is cleared every {count(_period(share))} steps or so"
    how_many = f"all {count(len(kept))}" if kept.all() else f"{count(int(kept.sum()))} of {count(len(kept))}"
    yield accumulating_gradient.finding(
        f"At {how_many} steps looked at, the gradient still held that of the step before: {every}.",
        first_step=int(seen.steps[np.argmax(kept)]),
        last_step=int(seen.steps[np.flatnonzero(kept)[-1]]),
        confidence=0.97 if kept.all() else 0.85,
        evidence={"share": share, "steps": len(kept)},
        series=[GRAD_NORM.name, LOSS.name],
        could_also_be=(
            "Gradient accumulation with optimizer.step() outside its `if`: every backward was followed by a step.",
        ),
        try_=(
            "Call optimizer.zero_grad() before loss.backward(), at every step.",
            "When accumulating over n micro-batches, call step() and zero_grad() together, every n-th time.",
        ),
    )


def _period(share: float) -> int:
    return max(2, round(1 / max(1e-6, 1 - share)))
